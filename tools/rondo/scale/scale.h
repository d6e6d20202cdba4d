// `rondo scale`: the predictions of the scale model for two to thousands of devices, and the device counts at
// which one algorithm becomes faster than another.
#pragma once

#include <rondo/collectives/models/scale_model.h>
#include <rondo/tools/rondo/scale/arguments.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace rondo::program {

// The cluster described by the options.
Cluster cluster_of(const ScaleArguments& arguments);

// The counts for a table: 2, 4, 8 ... inside a node, then one node, then powers of two of nodes, up to
// `most`.
std::vector<int64_t> table_counts(const Cluster& cluster, int64_t most);

// A range of device counts, inclusive.
struct Span {
  int64_t first = 0, last = 0;
};

// The ranges in which `algorithm` is faster than the flat ring, over 2 to `most` devices in whole nodes.
std::vector<Span> beats_flat_ring(ScaleAlgorithm algorithm, int64_t bytes, const Cluster& cluster,
                                  int64_t most);

// The fastest algorithm of each range: adjacent ranges from 2 devices to the last count up to `most`.
struct FastestSpan {
  ScaleAlgorithm algorithm;
  Span span;
};
std::vector<FastestSpan> fastest_spans(int64_t bytes, const Cluster& cluster, int64_t most);

// Whether an algorithm is distinct for this cluster: the hierarchical ones require a hierarchy.
bool applies(ScaleAlgorithm algorithm, int64_t devices, const Cluster& cluster);

// "3.4", "370", "1.79"
std::string three_digits(double value);
// "3.4 us", "1.79 ms", "12 s"
std::string time_text(double seconds);

// The table of one size, and its summary in words.
std::string scale_table(int64_t bytes, const Cluster& cluster, int64_t most);
std::string scale_words(int64_t bytes, const Cluster& cluster, int64_t most);

std::string scale_json(const ScaleArguments& arguments);
std::string scale_svg(const ScaleArguments& arguments);

// Prints tables and summaries, and writes the requested files. Throws rondo::Error.
void show_scale(const ScaleArguments& arguments, std::ostream& out);

}  // namespace rondo::program
