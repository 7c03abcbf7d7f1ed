"""Words that ask rather than tell, by language.

A question is mostly made of them ("what did the user say about …"), and each would pull in half of all lines. They are
left out of queries alone, never out of lines, and a query of nothing else keeps them all. Which language's list
applies is decided by the query: the one that most of its words stand in; a word of another list ("die", "war") stays.
"""

from collections.abc import Sequence

from langgraph_harness_memory.index.stems import stem

_LANGUAGES = {
    "en": """
        a an the this that these those i me my mine we us our ours you your yours he him his she her hers it its they
        them their theirs who whom whose which what when where why how is am are was were be been being do does did done
        doing have has had having will would shall should can could may might must and or but if so than then as at by
        for from in into of off on onto out over to up with about after before during between through under again
        there here all any both each few more most other some such no nor not only own same too very just also
        im ive id ill youre youve hes shes its were weve theyre theyve dont doesnt didnt isnt arent wasnt werent
        wont wouldnt cant couldnt shouldnt hasnt havent hadnt thats whats wheres whos lets
        tell say said ever many much kind type like get got upon via per yes please ok okay
        show find anything something mention mentioned user
    """,
    "de": """
        der die das den dem des ein eine einen einem einer eines und oder aber wenn weil dass ob als wie was wer wen wem
        wessen wann wo warum wieso welche welcher welches welchen ich mich mir mein meine wir uns unser du dich dir dein
        er ihn ihm sie ihr ihre es man sich ist sind war waren bin bist sein hat haben hatte hatten habe wird werden wurde
        wurden kann können konnte soll sollte muss musste darf mag nicht kein keine auch noch nur schon sehr so mit ohne
        von vom zu zum zur in im an am auf aus bei für über unter nach vor durch um gegen seit hier dort da dann gibt
    """,
    "es": """
        el la los las un una unos unas lo al del de y o u e pero si que qué quien quién quienes cual cuál cuáles cuando
        cuándo donde dónde como cómo por porqué para con sin sobre entre hasta desde en a ante es son era fue fueron ser
        está están estaba estar hay ha han he había tiene tienen tenía hace hizo yo tú él ella ello nosotros ellos ellas
        me te se nos le les mi mis tu tus su sus este esta estos estas ese esa eso no ni ya muy más también cuánto cuántos
    """,
    "fr": """
        le la les un une des du de d l et ou mais si que qu qui quoi quel quelle quels quelles quand où comment pourquoi
        est sont était étaient être été a ai as ont avait avoir fait faire je tu il elle on nous vous ils elles me te se
        lui leur leurs mon ma mes ton ta tes son sa ses notre votre ce cet cette ces ne pas plus dans en sur sous avec
        sans pour par chez entre vers au aux y c s n j m t estce combien dont
    """,
    "pt": """
        o a os as um uma uns umas de do da dos das no na nos nas em e ou mas se que quem qual quais quando onde como por
        porque para com sem sobre entre até é são era foi foram ser está estão estava estar há tem têm tinha fez faz eu
        você ele ela nós eles elas me te lhe meu minha seu sua seus suas este esta esse essa isso não já muito mais também
    """,
    "it": """
        il lo la i gli le un uno una di del della dei delle da dal dalla a al alla in nel nella con su sul sulla per tra
        fra e o ma se che chi cosa quale quali quando dove come perché è sono era erano essere ha hanno ho aveva avere io
        tu lui lei noi voi loro mi ti si ci vi mio mia suo sua questo questa non più anche molto fatto
    """,
    "nl": """
        de het een en of maar als dat die dit deze wie wat waar wanneer waarom hoe welke ik mij mijn wij we ons jij je
        jouw hij hem zijn zij ze haar is was waren ben bent heeft hebben had wordt worden werd kan kunnen moet niet geen
        ook nog al in op aan van voor met zonder bij naar uit over door om te er
    """,
    "ru": """
        и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее её мне было вот от меня о об
        из ему когда где кто чем чём какой какая какие какое каком почему зачем сколько ли для мы их нас был была были
        есть это этот эта эти тот та те том при под над про мой моя наш ваш свой уже еще ещё или ни быть до если чтобы от
    """,
}

_DENSE = """
    什么 怎么 怎样 哪里 哪个 哪些 为什么 是不是 有没有 多少 谁 的 了 吗 呢 吧 是 在 和 我 你 他 她 们 这 那 请问 关于
    について に関して ですか ますか でしたか ましたか とは です ます した する している いつ どこ だれ 誰 なぜ 何 どの どう
    という の は が を に で と も へ か
    무엇 언제 어디 누구 어떻게 왜 무슨 어떤 입니까 습니까 인가요 나요 에서 에게 으로 은 는 이 가 을 를 의 에
    อะไร เมื่อไร ที่ไหน ใคร อย่างไร ทำไม
"""

WORDS: dict[str, frozenset[str]] = {
    name: frozenset(stem(word.replace("'", "")) for word in words.split()) for name, words in _LANGUAGES.items()
}
"""Stems of the words to leave out, by language."""

DENSE_WORDS: tuple[str, ...] = tuple(sorted(_DENSE.split(), key=len, reverse=True))
"""Particles and question words of scripts without spaces, longest first."""


def stop_words_for(terms: Sequence[str]) -> frozenset[str]:
    """Return the list of the language that most of these terms stand in; English where several are level."""
    counts = {name: sum(term in words for term in terms) for name, words in WORDS.items()}
    best = max(counts.values(), default=0)
    return WORDS[next(name for name, count in counts.items() if count == best)]
