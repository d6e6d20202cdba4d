#include <rondo/collectives/across_hosts/agreement.h>
#include <rondo/collectives/across_hosts/gather.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/indexed.h>
#include <rondo/kernels/runtime/buffer.h>

#include <cstring>

namespace rondo {

namespace {

std::string call_text(const Call& call) {
  const std::string vectors = call.vectors == 1 ? "" : concat(call.vectors, " vectors, together ");
  return concat(call.operation, " of ", vectors, counted(call.size, "element"), " of ", name_of(call.dtype),
                ", ", name_of(call.reduction), ", on communicator ", call.communicator);
}

bool same(const Call& a, const Call& b) {
  return std::strcmp(a.operation, b.operation) == 0 && a.communicator == b.communicator && a.size == b.size &&
         a.vectors == b.vectors && a.shape == b.shape && a.dtype == b.dtype && a.reduction == b.reduction;
}

}  // namespace

Status agree(ProcessGroup& group, const char* operation, Call call, const Status& checked) {
  const RelaxedCaptureScope relaxed;  // a CUDA-aware MPI may call CUDA
  std::strncpy(call.operation, operation, sizeof call.operation - 1);
  call.refused = !checked.ok();
  PerRank<Call> all;
  const Status met = gather(group, call, all, concat("the call of ", operation), "a collective call");
  if (!checked.ok()) return checked;
  RONDO_RETURN_IF_ERROR(met);
  for (int process = 0; process < group.size(); ++process)
    if (all[process].refused)
      return bad_argument(operation, ": ", group.name(process),
                          " refused its call, so that nothing was done");
  for (int process = 1; process < group.size(); ++process)
    if (!same(all[process], all[0]))
      return bad_argument(operation, ": ", group.name(process), " calls ", call_text(all[process]), " and ",
                          group.name(0), " calls ", call_text(all[0]), ", must be the same in all processes");
  return {};
}

Status agree(ProcessGroup& group, Layout layout) {
  PerRank<Layout> all;
  RONDO_RETURN_IF_ERROR(gather(group, layout, all, "the making of a communicator"));
  for (int process = 1; process < group.size(); ++process) {
    const Layout &theirs = all[process], &first = all[0];
    const auto differ = [&](const char* one, const char* where, int64_t a, int64_t b) {
      return bad_argument("communicator: ", group.name(process), " has ", counted(a, one), where, " and ",
                          group.name(0), " has ", b, ", must be the same in all processes");
    };
    if (theirs.ranks != first.ranks) return differ("rank", "", theirs.ranks, first.ranks);
    if (theirs.slot_bytes != first.slot_bytes)
      return differ("byte", " a slot", theirs.slot_bytes, first.slot_bytes);
    if (theirs.bucket_bytes != first.bucket_bytes)
      return differ("byte", " in its bucket", theirs.bucket_bytes, first.bucket_bytes);
  }
  return {};
}

}  // namespace rondo
