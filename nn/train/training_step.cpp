#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/runtime/launch_trace.h>
#include <rondo/nn/train/training_step.h>

namespace rondo::nn {

TrainingStep::TrainingStep(ReplicaGroup& group)
    : group_(group),
      options_(group.options()),
      exchange_(group),
      // Only the first replica is timed; the others do the same work.
      whole_(group.streams().device(0), group.streams().stream(0)),
      partial_(group.streams().device(0), group.streams().stream(0)),
      recorded_(group.world().processes()) {}

// All work of a step, in the order in which it is enqueued. The gradients are sums over the batch, so one
// division by the size of the whole batch is right for shards of any size.
void TrainingStep::enqueue(BatchIterator& batches, int64_t batch, Optimizer& optimizer) {
  const std::span<Replica> replicas = group_.replicas();
  const std::vector<GradientBucket>& buckets = exchange_.buckets();
  PhaseTimer& timer = batch == options_.batch ? whole_ : partial_;
  timed_ = timed_ || batch == options_.batch;
  const auto trace_phase = [this](Phase phase) {
    if (trace_) trace_->set_phase(name_of(phase));
  };

  for (int64_t micro_batch = 0; micro_batch < options_.micro_batches; ++micro_batch) {
    const bool last = micro_batch + 1 == options_.micro_batches;
    const Pass pass = group_.training_pass(batch, micro_batch);
    timer.begin();
    trace_phase(Phase::load);

    group_.on_each([&](Replica& replica, size_t rank) {
      const Shard samples = group_.micro_batch(batch, rank, micro_batch);
      replica.set_batch(samples.size, samples.first);
      batches.load(replica, rank, samples, group_.loss(rank).target(0, samples.size));
      if (last) batches.advance(replica, rank);
    });
    timer.end(Phase::load);

    trace_phase(Phase::forward);
    forward(replicas, pass);
    group_.enqueue_loss(batches.loss(), true);
    timer.end(Phase::forward);

    // From the last layer to the first. Each bucket is reduced as soon as its gradients are complete, while
    // the layers before it still go backward.
    size_t next = 0;
    trace_phase(Phase::backward);
    backward(replicas, pass, [&](int node) {
      for (; last && next < buckets.size() && buckets[next].node >= node; ++next) {
        if (buckets[next].begin == 0) group_.mark_nonfinite_losses();  // for all replicas
        trace_phase(Phase::reduce);
        exchange_.reduce(buckets[next]);
        trace_phase(Phase::backward);
      }
    });
    timer.end(Phase::backward);
    if (!last) exchange_.accumulate(micro_batch);
  }

  // The same step on each replica.
  trace_phase(Phase::update);
  group_.on_each([&](Replica& replica, size_t rank) {
    exchange_.wait(rank);
    if (rank == 0) timer.end(Phase::reduce);
    group_.check_gradients(rank);
    optimizer.step(replica, rank, 1.0f / static_cast<float>(batch));
    throw_if_error(advance(replica.step(), 1, replica.stream()));
    if (rank == 0) timer.end(Phase::update);
  });
}

void TrainingStep::check(const Optimizer& optimizer) const {
  throw_if_error(failure_);
  for (size_t rank = 0; rank < group_.replicas().size(); ++rank)
    if (!optimizer.serves(group_.replicas()[rank], rank))
      throw Error(
          bad_argument("DataParallel: the optimizer was made for another model, must be for this one"));
}

void TrainingStep::take(BatchIterator& batches, Optimizer& optimizer) {
  check(optimizer);
  const int64_t batch = batches.next_batch();
  if (batch < 1 || batch > options_.batch)
    throw Error(bad_argument("DataParallel: the batch has ", counted(batch, "sample"), ", must have 1 to ",
                             options_.batch));
  // The optimizer's steps write the rounded parameters. Other changes of the parameters (initial
  // values, a checkpoint, the caller) do not.
  group_.on_each([](Replica& replica, size_t) {
    if (!replica.rounded_is_current()) replica.round_parameters();
  });
  const auto work = [this, &batches, batch, &optimizer] { enqueue(batches, batch, optimizer); };
  try {
    if (trace_) {
      trace_->begin_step();
      const LaunchTrace kernels(trace_, group_.streams().streams());
      group_.streams().fork();
      work();
      group_.streams().join();
    } else {
      recorded_.run({batch, batches.id(), optimizer.id(), static_cast<int>(batches.loss())}, group_.streams(),
                    work);
    }
    group_.on_each(
        [&](Replica& replica, size_t) { replica.set_rounded_is_current(optimizer.rounds_parameters()); });
    batches.step_taken();
  } catch (const Error& error) {
    failure_ = Status(error.status().code(), concat("DataParallel: a step failed: ", error.what()));
    throw;
  } catch (...) {
    failure_ = Status(StatusCode::device_failed, "DataParallel: a step failed");
    throw;
  }
}

PhaseSeconds TrainingStep::phases() const {
  if (!timed_) return {};
  PhaseSeconds seconds = whole_.read();
  // The timer holds the last micro-batch; all of them take the same time.
  for (Phase phase : {Phase::load, Phase::forward, Phase::backward})
    seconds[static_cast<size_t>(phase)] *= static_cast<double>(options_.micro_batches);
  return seconds;
}

void TrainingStep::set_trace(Trace* trace) {
  trace_ = trace;
  exchange_.set_trace(trace);
}

}  // namespace rondo::nn
