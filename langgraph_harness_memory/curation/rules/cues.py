"""Words that tell a rule what kind of sentence it looks at, by language.

They only shift a score: a sentence in a language that has no list here is still judged by its names, numbers, quotes,
identifiers and length. Scripts without spaces are searched for substrings, the others by whole words.
"""

import re


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as a text."""
    return frozenset(text.split())


FIRST_PERSON = word_set(
    """i i'm im i've ive i'd i'll me my mine myself we we're we've we'd we'll us our ours
    ich mir mich mein meine meinen meinem meiner wir uns unser unsere je j'ai moi mon ma mes nous notre nos
    yo mi mis me nosotros nuestro nuestra eu meu minha meus minhas nós io mio mia miei mie noi nostro nostra
    ik mij mijn wij ons onze ja mnie mój moja moje my nas nasz jag mig min mitt mina vi oss vår jeg meg
    prefiero vivo trabajo uso odio nací compré elegí decidí prefiro gosto adoro moro trabalho nasci comprei decidi preferisco abito lavoro
    wolę lubię mieszkam pracuję люблю предпочитаю живу работаю j'habite j'aime
    я мне меня мой моя моё мои мы нас нам наш наша ben bana benim biz bizim أنا نحن मैं मेरा मेरी हम tôi saya aku kami"""
)
"""Who says of themselves; of languages that leave the pronoun out, the verbs."""

SECOND_PERSON = word_set(
    """you you're you've you'll you'd your yours yourself du dich dir dein deine ihr euch tu te toi ton ta tes vous votre tú ti usted
    você teu ты тебя тебе твой вы вас вам ваш"""
)
"""Who talks about the listener."""

FIRST_PERSON_DENSE = (
    "我",
    "我们",
    "咱",
    "私",
    "僕",
    "俺",
    "わたし",
    "나는",
    "내가",
    "제가",
    "저는",
    "우리",
    "나의",
    "제 ",
    "ฉัน",
    "ผม",
)

COMMITMENT = word_set(
    """forbidden allowed mandatory banned required adopt adopted migrate migrated switch switched settled agreed agree
    decide decided decision chose choose chosen picked pick
    plan plans planned planning going gonna will intend intends scheduled schedule deadline due booked signed applied
    must never always budget should need needs required remember important note rule policy prefer prefers preferred preference favorite
    favourite like likes love loves loved hate hates enjoy enjoys want wants hope hoping dream dreams goal goals allergic vegetarian
    vegan fan use uses using used works work worked working lives live lived moved born married engaged graduated started
    joined left quit bought sold got won lost name named called means stands because instead turned learned learnt
    fixed broke broken deployed released merged configured installed created wrote built made found
    entschieden entscheidung beschlossen gewählt nehmen immer nie niemals muss müssen wichtig merke bevorzuge lieber mag liebe hasse
    plane geplant termin frist wohne arbeite heiße geboren verheiratet gekauft gezogen nutze nutzen benutze verwende
    décidé choisi préfère aime déteste toujours jamais dois doit important habite travaille appelle né née acheté utilise
    decidido decidí elegí elegido prefiero prefiere gusta odio siempre nunca debo debe importante vivo trabajo llamo nací compré uso
    decidi escolhi prefiro gosto adoro sempre moro trabalho chamo nasci comprei deciso scelto preferisco piace amo odio sempre mai
    devo abito lavoro chiamo nato comprato besloten gekozen liever houd altijd nooit moet woon werk gekocht
    решил решила решили выбрал выбрали предпочитаю люблю нравится ненавижу всегда никогда должен важно живу работаю зовут родился
    купил używam zawsze nigdy wolę lubię mieszkam pracuję"""
)
"""Decisions, plans, preferences, rules, and what people do and are."""

RULES = word_set(
    """must never always forbidden mandatory required rule insist insists immer nie niemals muss müssen pflicht verboten toujours jamais doit
    interdit siempre nunca debe prohibido sempre mai deve vietato всегда никогда нельзя"""
)
"""What somebody demands of whatever comes later."""

TRAITS = word_set(
    """vegetarian vegan allergic diabetic married engaged divorced pregnant retired unemployed left-handed vegetarierin vegetarier allergisch
    verheiratet végétarien végétarienne allergique marié mariée vegetariano vegetariana alérgico alérgica casado casada"""
)
"""What somebody is; one such word says it all."""

COMMITMENT_DENSE = word_set(
    """决定 选择 选了 采用 改用 使用 喜欢 讨厌 偏好 更喜欢 总是 从不 必须 重要 记住 住在 工作 名字 叫做 出生 结婚 计划 打算 截止 買 买了
    過敏 过敏     決定 決め 選ん 選択 採用 使用 使う 好き 嫌い いつも 必ず 重要 覚え 住んで 働い 名前 生まれ 結婚 予定 締め切り 買った アレルギー
    결정 선택 사용 좋아 싫어 항상 절대 반드시 중요 기억 살고 일하 이름 태어 결혼 계획 예정 마감 샀 알레르기 ชอบ เกลียด ตัดสินใจ"""
)

FILLER = word_set(
    """hey hi hello hiya yo bye goodbye cheers thanks thank thx ty welcome sorry please ok okay k alright yeah yep yup yes no nope nah sure
    wow whoa woah oh ooh ah aww awesome amazing great good nice cool lovely wonderful fantastic perfect excellent incredible sweet neat
    congrats congratulations glad happy absolutely definitely totally exactly indeed really right true agreed lol haha hahaha hehe omg
    so well and but just too very much a an the it that's thats that this it's its is was are be you you're your u for to of
    sounds looks seems keep going good luck care take soon later talk catch up see ya i i'm im what how about here there of course
    gosh hmm um uh mm interesting impressive inspiring proud best way go let's lets know me did do does as always again everyone guys buddy
    friend mate pal day night morning evening afternoon hear hearing from been have had long time no see got it do hope
    hallo danke bitte gerne ja nein gut super toll prima genau klar schön tschüss guten morgen tag abend
    bonjour salut merci oui non d'accord super génial parfait très bien hola gracias sí vale genial perfecto muy bien adiós
    olá obrigado obrigada sim não ótimo ciao grazie sì va bene perfetto привет спасибо да нет хорошо отлично ладно пока"""
)
"""Words that a sentence may consist of without saying anything."""

FILLER_DENSE = re.compile(
    r"(?:你好|您好|谢谢|謝謝|好的|好吧|嗯+|哈+|是的|对|對|没问题|不客气|再见|太好了|真棒|ありがとう(?:ございます)?|こんにちは|はい|いいえ|うん|そう(?:ですね)?|なるほど"
    r"|わかりました|了解(?:です)?|すごい|안녕(?:하세요)?|감사합니다|고마워|네|아니요|응|그래|좋아요?|알겠습니다)+"
)

OPENERS = re.compile(
    r"(?:(?:hey|hi|hello|wow|whoa|oh|ooh|ah|aww|yeah|yep|yup|yes|sure|ok|okay|well|so|thanks|thank you|thx|haha|lol|omg|gosh|cool|nice|great|"
    r"absolutely|definitely|totally|by the way|btw|anyways?|of course|no worries|no problem|you know|i mean|honestly|actually|also|and|but)"
    r"(?:(?: so much| a lot| again| there)?(?:,? (?!i\b)[A-Za-z]{2,12})?[,!.]+\s+|\s*[,!]+\s*))+",
    re.IGNORECASE,
)
"""What stands at the start of a sentence and can go."""
