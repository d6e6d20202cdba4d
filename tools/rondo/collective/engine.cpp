#include <rondo/tools/rondo/collective/engine.h>

namespace rondo::program {

LocalEngine::LocalEngine(std::vector<int> devices, CommunicatorOptions options)
    : devices_(devices), communicator_(std::move(devices), std::move(options)) {}

Status LocalEngine::enqueue(const CollectiveCall& call, RankOutputs outputs, RankInputs inputs,
                            RankStreams streams) {
  const ReduceOptions options{.reduction = call.reduction, .algorithm = call.algorithm};
  const auto root = static_cast<size_t>(call.root);
  switch (call.verb) {
    case Verb::reduce_scatter:
      return reduce_scatter(outputs, inputs, options, communicator_, streams);
    case Verb::all_gather:
      return all_gather(outputs, inputs, call.algorithm, communicator_, streams);
    case Verb::broadcast:
      return broadcast(outputs, inputs[root], call.root, call.algorithm, communicator_, streams);
    case Verb::reduce:
      return reduce(outputs[root], inputs, call.root, options, communicator_, streams);
    case Verb::all_to_all:
      return all_to_all(outputs, inputs, communicator_, streams);
    case Verb::all_reduce:
      break;
  }
  return all_reduce(outputs, inputs, options, communicator_, streams);
}

Algorithm LocalEngine::algorithm_of(const CollectiveCall& call, int64_t bytes) const {
  if (call.verb == Verb::all_to_all) return Algorithm::direct;
  if (call.algorithm != Algorithm::automatic) return call.algorithm;
  const Algorithm chosen =
      choose(ranks(), bytes, communicator_.options().links, communicator_.all_reach_all());
  return chosen == Algorithm::root && call.verb != Verb::all_reduce ? Algorithm::direct : chosen;
}

}  // namespace rondo::program
