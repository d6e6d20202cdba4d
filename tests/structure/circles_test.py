"""Refuses folders whose files include each other in a circle.

circles_test.py ROOT: ROOT is the folder of the sources. Within each root below, a folder is a node, and so is
a file beside the folders, by its stem. An include leads from the node of the file to that of the header.
Nodes that reach each other form a circle.
"""
import os.path
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
ENDINGS = (".h", ".cuh", ".cpp", ".cu", ".inc")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)

ROOTS = ("nn", "collectives", "tools/rondo", "tools/simt", "tools/simt/src", "tools/ptx/src", "bench",
         *sorted(f"kernels/{folder.name}" for folder in (ROOT / "kernels").iterdir() if folder.is_dir()))


def node_of(path, root):
    """The node of the file `path` in `root`, both relative to the same folder; None for a file elsewhere."""
    if not path.startswith(root + "/"):
        return None
    first, *rest = path[len(root) + 1:].split("/")
    return first if rest else first.split(".")[0]


def edges(root, sources):
    """{node: {node that it includes: "file includes header"}}; sources: {path: text}."""
    found = {}
    for path, text in sources.items():
        node = node_of(path, root)
        found.setdefault(node, {})
        for header in INCLUDE.findall(text):
            header = header.removeprefix("rondo/")
            beside = os.path.normpath(os.path.join(os.path.dirname(path), header))
            # The executor's include folders are "include" and "src".
            places = (beside, *(os.path.join(root, folder, header) for folder in ("include", "src")))
            to = node_of(next((place for place in places if place in sources), header), root)
            if to and to != node:
                found[node].setdefault(to, f"{path} includes {header}")
    return found


def circles(graph):
    """The sets of nodes that reach each other, each as a sorted tuple."""
    def reached(start):
        seen, left = set(), [start]
        while left:
            for node in graph.get(left.pop(), {}):
                if node not in seen:
                    seen.add(node)
                    left.append(node)
        return seen
    reach = {node: reached(node) for node in graph}
    return {tuple(sorted(other for other in reach[node] if node in reach.get(other, ())))
            for node in graph if node in reach[node]}


def sources_of(root):
    return {path.relative_to(ROOT).as_posix(): path.read_text(errors="replace")
            for path in sorted((ROOT / root).rglob("*")) if path.suffix in ENDINGS and path.is_file()}


class Circles(unittest.TestCase):
    def test_folders_include_each_other_in_one_direction(self):
        for root in ROOTS:
            sources = sources_of(root)
            self.assertTrue(sources, root)
            graph = edges(root, sources)
            for circle in circles(graph):
                includes = [graph[one][other] for one in circle for other in circle if other in graph[one]]
                with self.subTest(root=root):
                    self.fail(f"{', '.join(circle)} include each other: " + "; ".join(includes))

    def test_a_planted_circle_is_found(self):
        sources = {"nn/a/one.cpp": "#include <rondo/nn/b/two.h>\n", "nn/a/one.h": "",
                   "nn/b/two.h": '  # include "../c.h"\n',
                   "nn/c.h": "#include <rondo/nn/a/one.h>\n#include <rondo/kernels/core/status.h>\n",
                   "nn/c.cpp": "#include <rondo/nn/c.h>\n", "nn/d/three.h": "#include <rondo/nn/a/one.h>\n"}
        self.assertEqual(circles(edges("nn", sources)), {("a", "b", "c")})
        sources["nn/c.h"] = "// #include <rondo/nn/a/one.h>\n"
        self.assertEqual(circles(edges("nn", sources)), set())

    def test_two_circles_are_apart(self):
        sources = {f"k/{one}.h": f"#include <rondo/k/{other}.h>\n" for one, other in ("ab", "ba", "cd", "dc")}
        sources["k/a.cu"] = "#include <rondo/k/c.h>\n"
        self.assertEqual(circles(edges("k", sources)), {("a", "b"), ("c", "d")})

    def test_headers_of_the_executor_are_found(self):
        sources = {"s/include/a.h": "", "s/src/b.cpp": '#include <a.h>\n#include "../include/a.h"\n'}
        self.assertEqual(circles(edges("s", sources)), set())
        sources |= {"s/include/a.h": "#include <b.h>\n", "s/src/b.h": ""}
        self.assertEqual(circles(edges("s", sources)), {("include", "src")})

    def test_headers_are_found_beside_their_file(self):
        sources = {"bench/a/x.cpp": '#include "y.h"\n', "bench/a/y.h": '#include "../b/z.h"\n',
                   "bench/b/z.h": "#include <rondo/bench/a/y.h>\n"}
        self.assertEqual(circles(edges("bench", sources)), {("a", "b")})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
