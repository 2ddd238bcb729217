"""English function words: what holds sentences together and lists of keywords lack."""

# articles, demonstratives, quantifiers; pronouns and possessives; prepositions; conjunctions and
# what joins clauses; auxiliaries; particles and adverbs of degree, time and place; contractions
_WORDS = """
a an the this that these those all any both each either every few fewer half less little many more
most much neither no none one several some such enough other others another

i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves anybody anyone anything
everybody everyone everything nobody nothing somebody someone something oneself who whom whose which
what whoever whatever whichever

about above across after against along alongside amid among amongst around as at before behind below
beneath beside besides between beyond by concerning despite down during except excluding following
for from in including inside into like near of off on onto opposite out outside over past per
regarding round since than through throughout till to together toward towards under underneath
unlike until up upon versus via with within without

and but or nor so yet because although though if unless whereas whether while when whenever where
wherever why how however once then there therefore thus hence instead otherwise rather lest provided
else

am is are was were be been being do does did doing done have has had having can could may might must
shall should will would ought need dare used get gets got

not never ever even just only also too very quite again already always often still soon now here
away back forth almost perhaps maybe well own same next

i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'll we're
we've we'd we'll they're they've they'd they'll that's there's what's who's let's isn't aren't
wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't
mustn't cannot
"""
ENGLISH = frozenset(_WORDS.split())
