"""Refuses types and constants that are in both namespaces, rondo and rondo::nn.

ambiguous_names_test.py ROOT: ROOT is the folder of the sources. A program with `using namespace rondo;` and
`using namespace rondo::nn;` could not name them. Functions may have equal names: their arguments differ.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
NAMESPACE = re.compile(r"namespace (rondo(?:::\w+)*) \{")
# What a namespace has is not indented.
DECLARED = re.compile(r"(?:enum class|enum|struct|class|concept|using(?! namespace)) "
                      r"(?:\[\[\w+\]\] )?(\w+)(?= |;|$)|"
                      r"(?:inline )?constexpr [^=({]*\b(\w+)(?:\[\w*\])? ?[={]")


def names_of(text, namespace):
    """The types and constants that `text`, of a header, declares in `namespace`."""
    found, inside = set(), None
    for line in text.splitlines():
        line = re.sub(r"^template <.*?> (?=struct|class|using|concept|inline|constexpr)", "", line)
        if match := NAMESPACE.match(line):
            inside = match[1]
        elif inside == namespace and (match := DECLARED.match(line)):
            found.add(match[1] or match[2])
    return found


def names_in(folders, namespace):
    return set().union(*(names_of(path.read_text(), namespace)
                         for folder in folders for path in sorted((ROOT / folder).rglob("*.h"))))


class AmbiguousNames(unittest.TestCase):
    def test_no_type_is_in_both_namespaces(self):
        ours, nn = names_in(("kernels", "collectives", "nn"), "rondo"), names_in(("nn",), "rondo::nn")
        self.assertTrue({"Conv2dOptions", "Status", "kAllFinite", "Communicator"} <= ours)
        self.assertTrue({"Sgd", "ImageSet", "Module", "SampleValues", "kMostElements"} <= nn)
        self.assertEqual(ours & nn, set())

    def test_names_are_found(self):
        text = ("namespace rondo {\nenum class A : int { a };\nstruct [[nodiscard]] B;\n"
                "class C final : public D {\n  struct Inner {};\n};\nusing E = int;\n"
                "inline constexpr int64_t kF = 3;\nint g();\n"
                "template <class T> struct H {};\ntemplate <class T>\nclass I {};\n"
                "template <class T>\nconcept J = true;\nconstexpr int k(int x) { return x; }\n}\n"
                "namespace rondo::nn {\nstruct K {};\n}\n")
        self.assertEqual(names_of(text, "rondo"), {"A", "B", "C", "E", "kF", "H", "I", "J"})
        self.assertEqual(names_of(text, "rondo::nn"), {"K"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
