"""What the whole corpus has too often: images, image sets, documents of one URL, paragraphs."""
