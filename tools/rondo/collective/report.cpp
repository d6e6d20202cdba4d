#include <rondo/tools/rondo/collective/report.h>

namespace rondo::program {

int64_t CollectiveReport::wrong() const {
  int64_t sum = 0;
  for (const CollectiveRow& row : rows)
    sum += row.out_of_place.wrong.value_or(0) + (row.in_place ? row.in_place->wrong.value_or(0) : 0);
  return sum;
}

double algorithm_bandwidth(const CollectiveRow& row, const CollectiveTiming& timing) {
  return timing.seconds > 0 ? static_cast<double>(row.bytes) / timing.seconds : 0;
}

double bus_bandwidth(Verb verb, int ranks, const CollectiveRow& row, const CollectiveTiming& timing) {
  return bus_factor(verb, ranks) * algorithm_bandwidth(row, timing);
}

double mean_bus_bandwidth(const CollectiveReport& report) {
  double sum = 0;
  int count = 0;
  const auto take = [&](const CollectiveRow& row, const CollectiveTiming& timing) {
    sum += bus_bandwidth(report.verb, report.ranks, row, timing);
    ++count;
  };
  for (const CollectiveRow& row : report.rows) {
    take(row, row.out_of_place);
    if (row.in_place) take(row, *row.in_place);
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace rondo::program
