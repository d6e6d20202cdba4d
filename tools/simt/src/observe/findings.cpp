#include "findings.h"

#include <cstdio>

#include "../base/text.h"
#include "../device/report.h"
#include "source_lines.h"

namespace simt {
namespace {

// Headers whose functions stand for an instruction: their caller is the place that interests.
bool is_helper(const std::string& file) {
  for (const char* folder : {"/simt/include/", "/rondo-simt/", "/kernels/core/", "/include/c++/"})
    if (file.find(folder) != std::string::npos) return true;
  return false;
}

// "void rondo::(anonymous namespace)::sum<4>(float*)" becomes "sum<4>".
std::string short_name(const std::string& function) {
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == ' ' || (c == ':' && i > 0 && function[i - 1] == ':')) begin = i + 1;
    if (c != '(') continue;
    if (function.compare(i, 21, "(anonymous namespace)") != 0) return function.substr(begin, i - begin);
    i += 20;
  }
  return function.substr(begin);
}

std::string place(const SourceLine& line, bool with_function) {
  std::string at = line.file + ":" + std::to_string(line.line);
  if (!with_function || line.function.empty()) return at;
  const std::string name = short_name(line.function);
  return at + (name == "operator" ? " (a lambda)" : " (" + name + ")");
}

}  // namespace

std::string text_of(const std::vector<SourceLine>& lines) {
  if (lines.empty()) return "an unknown place (no debug information)";
  size_t main = 0;
  while (main + 1 < lines.size() && is_helper(lines[main].file)) ++main;
  if (is_helper(lines[main].file)) main = 0;
  std::string text = place(lines[main], true);
  for (size_t i = main; i-- > 0;) text += ", " + place(lines[i], false);
  const char* called = "; called at ";
  for (size_t i = main + 1; i < lines.size(); ++i) {
    if (is_helper(lines[i].file)) continue;
    text += called + place(lines[i], false);
    called = ", ";
  }
  return text;
}

namespace {

std::string place(const CheckedAccess& access) { return text_of(access.inlined); }

std::string verb(const CheckedAccess& access) {
  switch (access.kind) {
    case AccessKind::load:
      return access.atomic ? "reads (atomic)" : "reads";
    case AccessKind::store:
      return access.atomic ? "writes (atomic)" : "writes";
    case AccessKind::atomic:
      return "updates (atomic)";
    case AccessKind::async_copy_load:
      return "reads by cp.async";
    case AccessKind::async_copy_store:
      return "writes by cp.async";
    case AccessKind::bulk_copy_load:
      return "reads by a bulk copy";
    case AccessKind::bulk_copy_store:
      return "writes by a bulk copy";
    case AccessKind::product_load:
      return "reads by wgmma";
    case AccessKind::product_update:
      return "adds by wgmma to";
  }
  return "?";
}

std::string line(const CheckedAccess& access) {
  std::string text = "    " + verb(access);
  if (!access.in_kernel) return text + ": " + access.operation + " in " + access.stream;
  text += " " + counted(access.bytes, "byte");
  return text + ": block " + simt::text(access.block) + ", thread " + simt::text(access.thread) + ", " +
         place(access);
}

std::string operation(const CheckedAccess& access) {
  return access.in_kernel ? "      in kernel " + access.operation + ", " + access.stream + "\n" : "";
}

std::string reason(const Finding& finding, Relation relation) {
  const CheckedAccess& access = finding.access;
  if (finding.problem == Problem::unwritten_read)
    return finding.space == AccessSpace::shared
               ? "No thread of the block has written this memory."
               : "No kernel, copy or fill has written this memory since it was allocated.";
  if (finding.problem == Problem::unstarted_block)
    return "Nothing orders the start of that block before this access: a barrier of the cluster or an "
           "mbarrier must.";
  if (finding.problem == Problem::ended_block)
    return "Nothing orders this access before the end of that block: a barrier of the cluster or an "
           "mbarrier must.";
  const CheckedAccess& earlier = *finding.earlier;
  if (finding.problem == Problem::missing_proxy_fence)
    return earlier.kind == AccessKind::async_copy_store
               ? "The thread that copied must call fence.proxy.async after its wait and before the barrier."
               : "The thread that wrote must call fence.proxy.async after the write and before the barrier.";
  if (finding.problem == Problem::unfinished_copy) {
    if (earlier.kind == AccessKind::bulk_copy_store)
      return "The phase of the copy's mbarrier has not completed.";
    if (earlier.kind == AccessKind::product_load || earlier.kind == AccessKind::product_update)
      return "The warp has not waited for the group of this product.";
    return "The thread that issued the copy has not waited for its group.";
  }
  if (earlier.kind == AccessKind::product_load)
    return "Not all four warps of the warpgroup have waited for this product, or nothing orders their waits "
           "before "
           "this access.";
  if (earlier.kind == AccessKind::bulk_copy_store)
    return "This thread has not waited for the phase of the copy's mbarrier, and nothing orders it after a "
           "thread "
           "that has.";
  const bool one_atomic = access.atomic != earlier.atomic;
  const std::string note = one_atomic ? " An atomic orders only atomics." : "";
  switch (relation) {
    case Relation::same_warp:
      return "Neither __syncthreads nor __syncwarp is between them; shuffles and votes order no memory." +
             note;
    case Relation::same_block:
      return "Neither __syncthreads nor an mbarrier orders them." + note;
    case Relation::same_cluster:
      return "Neither the barrier of the cluster nor an mbarrier orders them." + note;
    case Relation::other_block:
      return "The blocks of a launch run in any order, and no __threadfence orders these two." + note;
    case Relation::other_operation:
      if (earlier.stream == access.stream) return "No path of the graph leads from one to the other.";
      return "Nothing orders the two streams here: no event from one to the other, and the host did not "
             "wait.";
  }
  return "";
}

}  // namespace

const void* SameLines::first_place(const void* place) {
  const auto [entry, fresh] = known_.try_emplace(place, place);
  if (!fresh) return entry->second;
  std::vector<std::pair<std::string, int>> lines;
  for (const SourceLine& line : source_lines(place)) lines.push_back({line.file, line.line});
  if (!lines.empty()) entry->second = by_lines_.try_emplace(std::move(lines), place).first->second;
  return entry->second;
}

void Findings::publish(Entry& entry) {
  published_.push_back(&entry);
  if (print_) std::fprintf(stderr, "simt: %s", entry.finding.text.c_str());
}

void Findings::publish_unwritten(AccessSpace space) {
  if (waiting_.empty()) return;
  std::erase_if(waiting_, [&](const Key& key) {
    if (key.space != space) return false;
    Entry& entry = by_key_[key];
    if (!entry.explained) publish(entry);
    return true;
  });
}

std::vector<Finding> Findings::all() const {
  std::vector<Finding> findings;
  for (const Entry* entry : published_) {
    findings.push_back(entry->finding);
    findings.back().times = entry->times;
  }
  return findings;
}

namespace {

std::string title(const Finding& finding) {
  if (finding.problem == Problem::race) return "unordered accesses to ";
  if (finding.problem == Problem::unwritten_read) return "a read of unwritten ";
  if (finding.problem == Problem::missing_proxy_fence)
    return "a missing fence.proxy.async between accesses to ";
  if (finding.problem == Problem::unstarted_block) return "an access before the start of the block, to ";
  if (finding.problem == Problem::ended_block) return "an access after the end of the block, to ";
  switch (finding.earlier->kind) {
    case AccessKind::bulk_copy_store:
      return "an access to an unfinished bulk copy in ";
    case AccessKind::product_load:
      return "a write to an operand of an unfinished wgmma in ";
    case AccessKind::product_update:
      return "an access to the result of an unfinished wgmma, ";
    default:
      return "an access to an unfinished cp.async in ";
  }
}

}  // namespace

std::string text(const Finding& finding, const std::string& memory, Relation relation) {
  std::string text = title(finding) + memory + ":\n";
  const bool two_operations = finding.earlier && relation == Relation::other_operation;
  if (finding.earlier) {
    text += line(*finding.earlier) + "\n";
    if (two_operations) text += operation(*finding.earlier);
  }
  text += line(finding.access) + "\n";
  if (two_operations)
    text += operation(finding.access);
  else
    text += "  In kernel " + finding.access.operation + ", " + finding.access.stream + "\n";
  return text + "  " + reason(finding, relation) + "\n";
}

}  // namespace simt
