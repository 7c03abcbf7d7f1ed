"""Every knob of the ranking, with what it does and why it stands where it stands.

The values were chosen by leave-one-conversation-out over seven long conversations, as turns and as facts at once, from
a pool of several hundred settings (`python -m benchmarks search-quality --tune` repeats it); where the curve is flat
the rounder value was taken.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """The knobs."""

    candidates: int = 600
    """Lines that bm25 proposes and the steps below order."""
    enough: int = 300
    """Lines that the rarest terms bring before commoner ones stop adding lines and only order them. All terms: R@10 +0.003 and
    half as long again; 200: R@10 -0.003 and a tenth less."""
    enough_part: float = 0.05
    """… and at least this part of all lines, so that a large memory is not searched by one rare word alone."""
    max_terms: int = 32
    """Terms that are searched for, the rarest first: a pasted page asks with its rarest words."""
    saturation: float = 0.8
    """bm25's k1: how much a second mention in one line adds."""
    length: float = 0.2
    """bm25's b: how much long lines pay. Lines of a log differ in length for no reason of topic."""
    coverage: float = 0.4
    """Power of the part of the query that a line holds: 0 = a sum of words, 1 = all of it or little."""
    heading_terms: float = 0.3
    """What a term is worth that stands in the heading above and not in the line. Such a line must hold another term."""
    from_above: tuple[float, ...] = (0.3, 0.2, 0.15, 0.1)
    """Part of the score of the line one, two, … lines above, under the same heading, that a line gains."""
    from_below: tuple[float, ...] = (0.2, 0.15, 0.1)
    """The same from below: an answer stands below its question more often than above."""
    givers: int = 100
    """Lines that give a part of their score to those around them, the best by themselves; all of them is no better."""
    file: float = 0.7
    """Weight of the file's own bm25 score."""
    file_saturation: float = 1.0
    """k1 of the file's score."""
    file_length: float = 0.8
    """b of the file's score."""
    heading: float = 0.3
    """What a person's heading keeps of its score as a hit: it names a topic, the lines below say something."""
    day: float = 0.3
    """Part of the best score that a line of a day gains which the query names."""
    cut_off: float = 0.25
    """Hits of several words below this part of the best score are left out. 0.2 to 0.3 costs a question in five hundred its line
    and takes one hit in twenty away; 0.5 costs three in a hundred."""
    meaning: float = 0.3
    """Weight of the cosine beside the words, where the index has embeddings; each side counts as a part of its best."""
    by_meaning: int = 50
    """Lines that only the embeddings propose."""
    tool: float = 0.8
    """What a line keeps of its score that only a tool said: text from outside ranks below what people said."""
    duplicate: float = 0.8
    """Terms that two lines share, as a part of all their terms, from which they count as the same fact."""


RANKING = Ranking()
"""The knobs as they were measured."""
