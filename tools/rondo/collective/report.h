// The report of a measurement: the columns of nccl-tests, and the algorithm, the machine's bound, the share
// of it that was reached, and the dominating term of the cost model.
#pragma once

#include <rondo/collectives/models/alpha_beta.h>
#include <rondo/tools/rondo/collective/arguments.h>

#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

struct CollectiveTiming {
  double seconds = 0;
  std::optional<int64_t> wrong;  // nothing: not checked
};

struct CollectiveRow {
  int64_t bytes = 0, count = 0;
  DType dtype = DType::float32;
  std::optional<Reduction> reduction = {};  // nothing: data is only moved
  std::optional<int> root = {};
  CollectiveTiming out_of_place = {};
  std::optional<CollectiveTiming> in_place = {};  // nothing: not supported in place
  Algorithm algorithm = Algorithm::ring;
  double bound_seconds = 0;  // out of place
  Cost predicted = {};
};

struct CollectiveFit {
  DType dtype = DType::float32;
  std::optional<Reduction> reduction;
  std::optional<int> root;
  AlphaBetaFit line;  // of the out-of-place times over the sizes
};

struct CollectiveReport {
  Verb verb = Verb::all_reduce;
  int ranks = 1;
  std::vector<int> devices = {};     // of the ranks; with several processes, the process index of each rank
  std::string place = {};            // a description; empty: the devices describe it
  std::vector<int> ring_order = {};  // ranks
  std::string links_note = {};       // the source of the automatic choice and the ring order; empty: none
  bool graph = false;
  LinkConstants measured = {};  // in this run; the basis of bounds and predictions
  std::vector<CollectiveRow> rows = {};
  std::vector<CollectiveFit> fits = {};

  int64_t wrong() const;  // over all rows
};

double algorithm_bandwidth(const CollectiveRow& row, const CollectiveTiming& timing);  // B/s: S / t
double bus_bandwidth(Verb verb, int ranks, const CollectiveRow& row, const CollectiveTiming& timing);
double mean_bus_bandwidth(const CollectiveReport& report);  // over all rows, out of place and in place

std::string collective_header(const CollectiveReport& report);
std::string collective_line(const CollectiveReport& report, const CollectiveRow& row);
std::string collective_footer(const CollectiveReport& report);
std::string collective_json(const CollectiveReport& report);

}  // namespace rondo::program
