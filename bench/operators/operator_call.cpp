#include <rondo/bench/operators/operator_call.h>
#include <rondo/bench/timing/device_time.h>

namespace rondo::bench {

OperandSets make_operands(const OperatorCall& call, int64_t count) {
  if (!call.prepare) return OperandSets(call.operands, count);
  return OperandSets(call.operands, count, [&](const Operands& operands) {
    run_once([&](cudaStream_t stream) { return call.prepare(operands, stream); });
  });
}

bool runs_right(const OperatorCall& call, const OperandSets& sets) {
  HostOperands host(sets);
  run_once([&](cudaStream_t stream) { return call.enqueue(sets.set(0), stream); });
  host.download_after();
  return call.is_right(host);
}

}  // namespace rondo::bench
