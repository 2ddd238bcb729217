"""Documents with images.

    line, row, sample or file ──► SourceDocument ── documents.batches ──► ReadBatch of ILLUSTRATED
                                   └ SourceImage: bytes, URL, or why it is lost

Open `documents.py` first: readers of all formats say what the input has as a `SourceDocument`
(`read/batch.py`), and one function reads the headers of its images, takes failed ones out of the
text, and lines up their bytes in the shard's stream of images. A document keeps its text where an
image of it fails.

    webdataset.py  tars of samples, on tar.py; also what img2dataset leaves beside them
    markdown.py    Markdown, with the images it refers to
    facts.py       format, size, mode and digest of an image; headers.py reads most without Pillow
    layouts.py     how published corpora lay out texts and images in turn
    sample.py      what the members of one sample of a tar say
    folder.py      files that documents refer to, and where they may lie
    tiff.py        the pages of a TIFF, each an image
    blobs.py       the bytes of images, in memory or set down in a file of the run
    nodes.py       the parts of a text between blank lines, some of which are images
    stored.py      the column `images` of token shards and of the dataset

Nouns of this room:

    sample         one image with its captions; its text holds no U+FFFC
    interleaved    a document of texts and images in turn; U+FFFC stands for each image
    placeholder    U+FFFC; where a text of the input has it by itself, it becomes U+FFFD
    spool          the images of a shard in one file of the run, between two passes
    offset         the byte at which an image begins in the shard's stream of images or its spool
"""
