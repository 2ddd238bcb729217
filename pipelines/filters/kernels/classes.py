"""Bits that kernels read in one byte a byte of text: the class of its character, kinds of words."""

START = 1  # first byte of its character: as many as there are characters; kernels add it up
SPACE = 2  # str.isspace(), or whatever is in no word
BREAK = 4  # str.splitlines() ends a line here
ALPHA = 8  # str.isalpha()
SYMBOL = 16  # in datatrove's PUNCTUATION_SET: a word of nothing else is no word to Gopher's rules
TERMINAL = 32  # in datatrove's TERMINAL_PUNCTUATION: ends a sentence in some script
DECIMAL = 64  # str.isdecimal(), `\d` of `re`
CLOSING = 128  # may stand between the end of a sentence and the space behind it

SPLIT = 128  # in classes of words, in place of CLOSING: another word begins inside a run
STOP, PUNCT = 4, 8  # beside START: a mark that ends a sentence; of a category of punctuation
BLANK = 0x20  # the one space that is no word to spaCy
KEEP = 0  # a verdict, as in pipelines.core.stage
