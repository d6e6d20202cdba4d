#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/judge/timeline.h>
#include <rondo/tools/rondo/judge/verdict.h>
#include <rondo/tools/rondo/profile/forecast.h>
#include <rondo/tools/rondo/profile/lines.h>
#include <rondo/tools/rondo/profile/source_place.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>

namespace rondo::program {
namespace {

// Whether both accesses of a race to global memory are at one source line. The line of an access is like
// "reads 4 bytes: block (0, 0, 0), thread (1, 0, 0), sum.cu:8 (sum)".
bool is_of_one_line(const std::string& text) {
  if (text.find("shared memory") != std::string::npos) return false;
  std::vector<std::string> places;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (const size_t comma = line.rfind(", ");
        line.find(" bytes: ") != std::string::npos && comma != std::string::npos)
      places.push_back(line.substr(comma));
    begin = end + 1;
  }
  return places.size() == 2 && places[0] == places[1];
}

Hint hint_of_race(const TrialFinding& finding, const Problem& problem) {
  const auto says = [&](const char* words) { return finding.text.find(words) != std::string::npos; };
  if (!says("In kernel") && problem.has_several_devices())
    return {"a device used data of another one before an event said that they are ready",
            "A read of a peer before it is ready"};
  if (!says("In kernel"))
    return {"two operations of different streams use the same memory, and no event orders them",
            "A missing event between streams"};
  if (says("unfinished cp.async"))
    return {"wait for the group of a cp.async before its values are used, then for a barrier", ""};
  if (says("run in any order"))
    return {
        "a block uses what another block of the same launch writes, and blocks run in any order: let a "
        "second kernel use it",
        ""};
  if (is_of_one_line(finding.text))
    return {"several threads read, change and write one value: atomicAdd(), or a sum of each block first",
            ""};
  return {"one thread uses what another one writes, and no barrier is between them", "A missing barrier"};
}

Hint hint_of_address(const TrialFinding& finding) {
  const auto says = [&](const char* words) { return finding.text.find(words) != std::string::npos; };
  if (says("cudaErrorMisalignedAddress"))
    return {"an access of 8 or 16 bytes needs an address that is a multiple of its size", ""};
  if (says("a null pointer")) return {"a null pointer: cudaMalloc() failed, or its size was 0", ""};
  if (says("may not touch"))
    return {
        "memory of another device: cudaSetDevice() comes before a launch, cudaDeviceEnablePeerAccess() "
        "before an access",
        ""};
  if (finding.text.rfind("the host ", 0) == 0)
    return {"the host cannot use memory of a device: cudaMemcpy(), cudaMemset() and kernels can", ""};
  if (says(" before an allocation")) return {"an index is negative", ""};
  return {"the last block has threads beyond the end; an index that was made of two can leave each range",
          ""};
}

// Nothing where the finding says it all.
std::optional<Hint> hint_of(const TrialFinding& finding, const Verdict& verdict) {
  switch (finding.kind) {
    case FindingKind::race:
      return hint_of_race(finding, *verdict.problem);
    case FindingKind::out_of_range:
      return hint_of_address(finding);
    case FindingKind::deadlock:
      return Hint{"all threads of a block must reach the same __syncthreads()", ""};
    case FindingKind::unwritten_read:
      // Without an order a read may come before the write: the race is the cause.
      for (const TrialFinding& other : verdict.findings)
        if (other.kind == FindingKind::race) return std::nullopt;
      return Hint{"memory has no value before something writes it, and shared memory has none in each block",
                  ""};
    case FindingKind::other:
      break;
  }
  return std::nullopt;
}

void add_hints_of_findings(const Verdict& verdict, std::vector<Hint>& hints) {
  for (const TrialFinding& finding : verdict.findings) {
    const std::optional<Hint> hint = hint_of(finding, verdict);
    if (!hint) continue;
    const bool known =
        std::any_of(hints.begin(), hints.end(), [&](const Hint& h) { return h.text == hint->text; });
    if (!known) hints.push_back(*hint);
  }
}

// Accesses that cost several times what they must.
void add_hints_of_counts(const simt::ProgramProfile& profile, std::vector<Hint>& hints) {
  constexpr double kCostly = 3, kLeastShare = 0.1;
  for (const simt::KernelProfile& kernel : profile.kernels) {
    uint64_t sectors = 0, wavefronts = 0;
    for (const simt::AccessCounts& access : kernel.accesses)
      sectors += access.sectors, wavefronts += access.wavefronts;
    for (const simt::AccessCounts& access : accesses_by_line(kernel)) {
      const auto costs = [&](uint64_t count, uint64_t least, uint64_t all) {
        return least > 0 && static_cast<double>(count) >= kCostly * static_cast<double>(least) &&
               static_cast<double>(count) >= kLeastShare * static_cast<double>(all);
      };
      const auto times = [](uint64_t count, uint64_t least) { return concat(count / least, " times"); };
      if (access.space == simt::AccessSpace::global && costs(access.sectors, access.least_sectors, sectors))
        hints.push_back(
            {concat(source_place(access), ": a ", access_text(access), " moves ",
                    times(access.sectors, access.least_sectors),
                    " the sectors that its bytes fill: let neighbours in a warp use neighbours in memory"),
             "Uncoalesced columns"});
      if (access.space == simt::AccessSpace::shared &&
          costs(access.wavefronts, access.least_wavefronts, wavefronts))
        hints.push_back({concat(source_place(access), ": a ", access_text(access), " takes ",
                                times(access.wavefronts, access.least_wavefronts),
                                " the wavefronts that it needs: lanes of a warp meet in one bank"),
                         "A 32-way bank conflict"});
    }
  }
}

// What is more than in the best known solution, if no line says it.
void add_hint_of_excess(const Comparison& comparison, std::vector<Hint>& hints) {
  constexpr double kMore = 1.1;
  const std::pair<const char*, double Measure::*> counts[] = {
      {"launches", &Measure::launches},
      {"bytes of memory", &Measure::bytes},
      {"sectors", &Measure::sectors},
      {"wavefronts of shared memory", &Measure::wavefronts},
      {"bytes of links", &Measure::link_bytes}};
  std::string text;
  for (const auto& [name, count] : counts) {
    const double yours = comparison.yours.*count, best = comparison.best.*count;
    if (yours > kMore * best)
      text += concat(text.empty() ? "" : ", ", name, " ", grouped(static_cast<int64_t>(yours + 0.5)),
                     " instead of ", grouped(static_cast<int64_t>(best + 0.5)));
  }
  if (!text.empty()) hints.push_back({concat("above the best known solution: ", text), ""});
}

// Results stay on the devices, unless they are in pinned memory; a copy to the host waits for them.
void add_hint_of_copies(const std::optional<uint64_t>& pinned_bytes, const simt::ProgramProfile& profile,
                        std::vector<Hint>& hints) {
  const auto any = [&](auto is_wanted) {
    return std::any_of(profile.operations.begin(), profile.operations.end(), is_wanted);
  };
  const auto is_whole_array = [&](const simt::CountedOperation& operation) {
    return operation.is_with_host() && operation.bytes >= *pinned_bytes;
  };
  const auto is_to_host = [](const simt::CountedOperation& operation) {
    return operation.is_copy() && operation.to == simt::kHostMemory;
  };
  if (pinned_bytes && any(is_whole_array))
    hints.push_back(
        {"a whole array is copied at once, and what uses it waits for all of it: copy in pieces, in "
         "several streams",
         ""});
  if (!pinned_bytes && any(is_to_host))
    hints.push_back({"values are copied to the host, which waits for them: leave them on the device",
                     "The loss read back at every step"});
}

}  // namespace

const char* name_of(Judgement judgement) {
  constexpr const char* kNames[] = {"right", "wrong", "faulty", "time limit", "not compiled"};
  return kNames[static_cast<size_t>(judgement)];
}

Measure measure_of(const simt::ProgramProfile& profile, const Case& of, const simt::GpuProperties& gpu) {
  Measure measure;
  double longest = 0;
  for (const simt::KernelProfile& kernel : profile.kernels) {
    const KernelForecast lower = forecast(kernel, gpu, std::nullopt);
    if (const KernelTime time = counted_time(kernel, gpu); time.seconds > longest) {
      longest = time.seconds;
      measure.bound = time.bound;
    }
    measure.launches += lower.totals.launches;
    measure.bytes += lower.totals.launch_bytes;
    measure.block_bytes += lower.totals.block_bytes;
    measure.sectors += lower.totals.global_sectors;
    measure.wavefronts += lower.totals.shared_wavefronts;
    measure.barriers += lower.totals.barriers;
  }
  for (const simt::CountedOperation& operation : profile.operations) {
    if (operation.is_copy()) measure.link_bytes += static_cast<double>(operation.bytes);
    for (const simt::LinkBytes& link : {operation.host_link, operation.peer_link})
      measure.link_bytes += static_cast<double>(link.read + link.written);
  }
  const double arithmetic = of.flops / (gpu.fp32_tflops() * 1e12);
  measure.seconds = counted_seconds(profile, gpu) + arithmetic;
  if (arithmetic > longest) measure.bound = "arithmetic";
  return measure;
}

std::vector<Hint> hints_of(const Verdict& verdict) {
  std::vector<Hint> hints;
  if (verdict.failure) {
    const Trial& trial = verdict.failure->trial;
    if (!trial.mistake.empty() && verdict.findings.empty())
      hints.push_back({trial.mistake, trial.mistake_section});
    if (trial.unchecked_launch)
      hints.push_back(
          {"a CUDA call failed, and nothing noticed: look at what calls return, and at cudaGetLastError() "
           "after a launch",
           "A launch that was never checked"});
  }
  add_hints_of_findings(verdict, hints);
  if (verdict.comparison && verdict.comparison->stars < 3) {
    add_hints_of_counts(*verdict.profile, hints);
    if (hints.empty() && verdict.comparison->stars > 0) add_hint_of_excess(*verdict.comparison, hints);
    add_hint_of_copies(verdict.comparison->pinned_bytes, *verdict.profile, hints);
  }
  return hints;
}

simt::ProgramProfile summed(simt::ProgramProfile profile) {
  for (simt::KernelProfile& kernel : profile.kernels) {
    simt::AccessCounts sums[2];
    sums[1].space = simt::AccessSpace::shared;
    for (const simt::AccessCounts& access : kernel.accesses)
      sums[access.space == simt::AccessSpace::shared] += access;
    kernel.accesses.assign(std::begin(sums), std::end(sums));
  }
  return profile;
}

}  // namespace rondo::program
