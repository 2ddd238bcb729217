"""Documents with images.

    line, row, sample or file ──► SourceDocument ── documents.batches ──► ReadBatch of ILLUSTRATED
                                   └ SourceImage: bytes, URL, or why it is lost

Open `documents.py` first: readers of all formats say what the input has as a `SourceDocument`
(`read/batch.py`), and one function reads the headers of its images, takes failed ones out of the
text, and lines up their bytes in the shard's stream of images. A document keeps its text where an
image of it fails.

Nouns of this room:

    sample         one image with its captions; its text holds no U+FFFC
    interleaved    a document of texts and images in turn; U+FFFC stands for each image
    placeholder    U+FFFC; where a text of the input has it by itself, it becomes U+FFFD
    spool          the images of a shard in one file of the run, between two passes
    offset         the byte at which an image begins in the shard's stream of images or its spool
"""
