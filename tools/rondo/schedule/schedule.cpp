#include <rondo/collectives/ring_schedule.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/schedule/schedule.h>
#include <rondo/tools/rondo/schedule/schedule_json.h>
#include <rondo/tools/rondo/schedule/schedule_page.h>
#include <rondo/tools/rondo/schedule/schedule_svg.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/output_file.h>

#include <algorithm>

namespace rondo::program {
namespace {

constexpr size_t kLineWidth = 100;

int64_t chunk_bytes(int index, int ranks, int64_t bytes) {
  return ring::chunk_of(bytes, ranks, index, 1).size;
}

std::string hop(int rank, int ranks) { return concat(rank, " -> ", ring::next_position(rank, ranks)); }

// The chunk that each rank sends, for the steps [first, end).
std::string steps_text(int ranks, int64_t bytes, int first, int end) {
  const size_t label = hop(ranks - 1, ranks).size() + hop(0, ranks).size() % 2;
  const size_t cell = exact_text(std::max(end - 1, ranks - 1)).size() + 1;
  std::string text = left("step", label + 1);
  for (int step = first; step < end; ++step) text += right(exact_text(step), cell);
  text += "\n";
  for (int rank = 0; rank < ranks; ++rank) {
    text += left(hop(rank, ranks), label + 1);
    for (int step = first; step < end; ++step) {
      const Transfer transfer = transfer_of(rank, step, ranks, bytes);
      text += right(transfer.bytes > 0 ? exact_text(transfer.chunk) : "-", cell);
    }
    text += "\n";
  }
  return text;
}

// One phase, in as many blocks as short lines need.
std::string phase_text(int ranks, int64_t bytes, int first, int end) {
  const int columns = static_cast<int>((kLineWidth - hop(ranks - 1, ranks).size()) / 4);
  std::string text;
  for (int step = first; step < end; step += columns)
    text += (step == first ? "" : "\n") + steps_text(ranks, bytes, step, std::min(end, step + columns));
  return text;
}

}  // namespace

Transfer transfer_of(int rank, int step, int ranks, int64_t bytes) {
  const int chunk = ring::sent_chunk(rank, step, ranks);
  const bool adds = ring::phase_of(step, ranks) == ring::Phase::reduce_scatter;
  return {.step = step,
          .from = rank,
          .to = ring::next_position(rank, ranks),
          .chunk = chunk,
          .bytes = chunk_bytes(chunk, ranks, bytes),
          .shares = adds ? step + 1 : ranks,
          .adds = adds};
}

std::string chunk_sizes(int ranks, int64_t bytes) {
  std::string text;
  for (int first = 0, end; first < ranks; first = end) {
    const int64_t size = chunk_bytes(first, ranks, bytes);
    for (end = first + 1; end < ranks && chunk_bytes(end, ranks, bytes) == size;) ++end;
    const std::string of = size > 0 ? " of " + byte_count_text(size) : " empty";
    if (first == 0 && end == ranks && size > 0) return concat(ranks, ranks == 1 ? " chunk" : " chunks", of);
    const std::string which =
        end == first + 1 ? concat("chunk ", first) : concat("chunks ", first, " to ", end - 1);
    text += concat(text.empty() ? "" : ", ", which, of);
  }
  return text;
}

std::string schedule_text(int ranks, int64_t bytes) {
  const int steps = ring::steps(ranks);
  std::string text = concat("Ring all-reduce of ", byte_count_text(bytes), " over ", ranks,
                            ranks == 1 ? " rank: " : " ranks: ", counted(steps, "step"), ", ",
                            chunk_sizes(ranks, bytes), "\n");
  if (steps == 0) return text + "One rank has nothing to send.\n";
  text += concat("At step s rank r sends chunk r - s (mod ", ranks, ") to rank r + 1.\n");
  if (chunk_bytes(ranks - 1, ranks, bytes) == 0) text += "-: an empty chunk, nothing is sent\n";
  text += "\nreduce-scatter: the receiver adds its share\n" + phase_text(ranks, bytes, 0, ranks - 1);
  text +=
      "\nall-gather: the receiver keeps the finished chunk\n" + phase_text(ranks, bytes, ranks - 1, steps);
  return text;
}

void show_schedule(const ScheduleArguments& arguments, std::ostream& out) {
  const int ranks = arguments.ranks;
  const OutputFile picture("--svg", arguments.svg), page("--html", arguments.html),
      json("--json", arguments.json);
  if (!picture.wanted() && !page.wanted() && !json.wanted()) out << schedule_text(ranks, arguments.bytes);
  const auto report = [&](const char* what, const OutputFile& file) {
    out << concat("the ", what, " of ", ranks, ranks == 1 ? " rank" : " ranks", " is in ", file.shown(),
                  "\n");
  };
  if (picture.wanted()) {
    picture.write(schedule_svg(ranks, arguments.bytes));
    report("schedule", picture);
  }
  if (page.wanted()) {
    page.write(schedule_page(arguments));
    report("page", page);
  }
  if (json.wanted()) {
    json.write(schedule_json(arguments, {ranks}));
    report("JSON", json);
  }
}

}  // namespace rondo::program
