// `rondo scale`: what the scale model predicts for two devices up to thousands, and where one algorithm overtakes
// another.
#pragma once

#include <rondo/collectives/models/scale_model.h>
#include <rondo/tools/rondo/arguments.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace rondo::program {

// The cluster that the options describe.
Cluster cluster_of(const ScaleArguments& arguments);

// Counts for a table: 2, 4, 8 ... in a node, then the node, then nodes in powers of two, up to `most`.
std::vector<int64_t> table_counts(const Cluster& cluster, int64_t most);

// The counts of devices, from first to last, for which something holds.
struct Span {
  int64_t first = 0, last = 0;
};

// Where `algorithm` is faster than the flat ring, among 2 to `most` devices in whole nodes.
std::vector<Span> beats_flat_ring(ScaleAlgorithm algorithm, int64_t bytes, const Cluster& cluster,
                                  int64_t most);

// What is the fastest where: spans side by side from 2 devices to the last count up to `most`.
struct FastestSpan {
  ScaleAlgorithm algorithm;
  Span span;
};
std::vector<FastestSpan> fastest_spans(int64_t bytes, const Cluster& cluster, int64_t most);

// Whether an algorithm is something of its own: the hierarchical ones are that only where there is a hierarchy.
bool applies(ScaleAlgorithm algorithm, int64_t devices, const Cluster& cluster);

// "3.4", "370", "1.79"
std::string three_digits(double value);
// "3.4 us", "1.79 ms", "12 s"
std::string time_text(double seconds);

// The table of one size, and what it means in words.
std::string scale_table(int64_t bytes, const Cluster& cluster, int64_t most);
std::string scale_words(int64_t bytes, const Cluster& cluster, int64_t most);

std::string scale_json(const ScaleArguments& arguments);
std::string scale_svg(const ScaleArguments& arguments);

// Prints tables and words, writes the files that are asked for. Throws rondo::Error.
void show_scale(const ScaleArguments& arguments, std::ostream& out);

}  // namespace rondo::program
