// Every training says why its steps do not run as graphs.
#include <gtest/gtest.h>

#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/train/train_from_scratch.h>
#include <rondo/tools/rondo/train/train_mlp.h>
#include <rondo/tools/rondo/train/train_network.h>

#include <sstream>

#ifdef __SIMT__
#include <rondo/tests/support/graph_memory.h>
#include <rondo/tests/support/peer_links.h>
#include <rondo/tests/support/skip_without_devices.h>

namespace rondo::program {
namespace {

constexpr Terminal kNoTerminal{};

class GraphRefusal : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_DEVICES(2);
    test::write_data_set(data_.path(), 12, 6);
    network_.data = data_.path();
    network_.devices = mlp_.devices = {0, 1};
    network_.model = "lenet";
    network_.recipe = kLeNetRecipe;
    network_.batch = mlp_.batch = 4;
    network_.epochs = 1;
    mlp_.layers = 2;
    mlp_.width = 8;
    test::set_all_links(simt::PeerAccess::absent);
  }
  ~GraphRefusal() override {
    simt::set_staged_graph_copies(simt::StagedGraphCopies::work);
    test::set_all_links(simt::PeerAccess::works);
  }

  // The output of `train` names a refusal exactly if the copies are refused, or there is no memory.
  template <class Train>
  static void expect_told(const Train& train) {
    for (const auto copies : {simt::StagedGraphCopies::work, simt::StagedGraphCopies::not_captured,
                              simt::StagedGraphCopies::not_launched}) {
      simt::set_staged_graph_copies(copies);
      std::ostringstream out;
      train(out);
      const bool told =
          out.str().find("call by call, which is slower: CUDA rejected the graph, ") != std::string::npos;
      EXPECT_EQ(told, copies != simt::StagedGraphCopies::work) << out.str();
    }
    simt::set_staged_graph_copies(simt::StagedGraphCopies::work);
    const test::GraphMemory memory(1, test::GraphMemory::for_nothing);
    std::ostringstream out;
    train(out);
    EXPECT_NE(out.str().find("CUDA rejected the graph, making the step's graph executable: out of memory"),
              std::string::npos)
        << out.str();
  }

  test::TemporaryDirectory data_;
  NetworkArguments network_;
  MlpArguments mlp_;
};

TEST_F(GraphRefusal, IsToldByTheLesson) {
  network_.from_scratch = true;
  expect_told([&](std::ostream& out) { train_from_scratch(network_, out, kNoTerminal); });
}

TEST_F(GraphRefusal, IsToldByTrainNetwork) {
  expect_told([&](std::ostream& out) { train_network(network_, out, kNoTerminal); });
}

TEST_F(GraphRefusal, IsToldByTrainMlp) {
  expect_told([&](std::ostream& out) { train_mlp(mlp_, out, kNoTerminal); });
}

}  // namespace
}  // namespace rondo::program
#endif
