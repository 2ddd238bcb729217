"""Connected components by breadth-first search."""

from collections import defaultdict, deque


def clusters(n_docs, edges):
    """The lowest row of each row's component."""
    neighbours = defaultdict(list)
    for x, y in edges:
        neighbours[x].append(y)
        neighbours[y].append(x)
    labels = [None] * n_docs
    for start in range(n_docs):  # ascending: the first to reach a component is its lowest
        queue = deque([start] if labels[start] is None else [])
        while queue:
            row = queue.popleft()
            if labels[row] is None:
                labels[row] = start
                queue.extend(neighbours[row])
    return labels


def led(labels, weights, n_fixed):
    """The heaviest row of each row's component, the lowest of equals; or its lowest, if fixed."""
    rows = range(len(labels))
    of = {top: [row for row in rows if labels[row] == top] for top in labels}
    best = {top: max(some, key=lambda row: (weights[row], -row)) for top, some in of.items()}
    return [top if top < n_fixed else best[top] for top in labels]
