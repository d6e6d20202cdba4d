// Compares the picture of a network with its graph.
#include <gtest/gtest.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/summary/network_layout.h>
#include <rondo/tools/rondo/summary/network_svg.h>
#include <rondo/tools/rondo/support/format.h>

#include <set>

namespace rondo::program {
namespace {

using test::missing;
using test::XmlCheck;

nn::Graph graph_of(const std::string& name) {
  const nn::NamedModel model = nn::model(name);
  return nn::make_graph(model.network, model.input);
}

const NetworkBox& source(const NetworkLayout& layout, size_t to, int which) {
  for (const NetworkEdge& edge : layout.edges)
    if (edge.to == to && which-- == 0) return layout.boxes[edge.from];
  throw std::runtime_error("no such edge");
}

TEST(NetworkLayout, AChainGoesDown) {
  const NetworkLayout lenet = lay_out(graph_of("lenet"));
  ASSERT_EQ(lenet.boxes.size(), 7u);
  EXPECT_TRUE(lenet.blocks.empty());
  EXPECT_EQ(lenet.columns, 1);
  EXPECT_EQ(lenet.rows, 7);
  for (size_t i = 0; i < lenet.boxes.size(); ++i) EXPECT_EQ(lenet.boxes[i].row, static_cast<int>(i));
  ASSERT_EQ(lenet.edges.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(lenet.edges[i], (NetworkEdge{i, i + 1}));
}

// 5 of the 8 blocks add their input, from 3 rows above, and 3 add a convolution of it. The first two blocks
// are equal, and drawn once.
TEST(NetworkLayout, ResidualsPassTheirBlocks) {
  const NetworkLayout layout = lay_out(graph_of("resnet18"));
  int skips = 0, shortcuts = 0;
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    if (layout.boxes[i].of.layer != "add, ReLU") continue;
    const NetworkBox &body = source(layout, i, 0), &other = source(layout, i, 1);
    EXPECT_EQ(body.row, layout.boxes[i].row - 1);
    EXPECT_EQ(body.column, 0);
    if (other.column == 0) {
      skips += static_cast<int>(layout.boxes[i].blocks);
      EXPECT_EQ(other.row, layout.boxes[i].row - 3);
    } else {
      ++shortcuts;
      EXPECT_EQ(other.column, 1);
      EXPECT_EQ(other.of.layer.rfind("conv", 0), 0u) << other.of.layer;
      EXPECT_NE(other.of.layer.find("@ 1x1, stride 2"), std::string::npos) << other.of.layer;
    }
  }
  EXPECT_EQ(skips, 5);
  EXPECT_EQ(shortcuts, 3);
  std::set<std::pair<int, int>> places;
  for (const NetworkBox& box : layout.boxes) EXPECT_TRUE(places.insert({box.row, box.column}).second);
}

TEST(NetworkLayout, RepeatedBlocksAreDrawnOnce) {
  const NetworkLayout resnet = lay_out(graph_of("resnet18"));
  ASSERT_EQ(resnet.blocks.size(), 1u);
  EXPECT_EQ(resnet.blocks[0].times, 2);
  EXPECT_EQ(resnet.blocks[0].end - resnet.blocks[0].first, 3u);
  // The encoder's block is two residuals, which alternate.
  const NetworkLayout vit = lay_out(graph_of("vit"));
  ASSERT_EQ(vit.blocks.size(), 1u);
  const NetworkBlock block = vit.blocks[0];
  EXPECT_EQ(block.times, 4);
  ASSERT_EQ(block.end - block.first, 9u);
  EXPECT_EQ(vit.boxes[block.first].of.layer, "layer norm");
  EXPECT_EQ(vit.boxes[block.first + 4].of.layer, "add");
  EXPECT_EQ(vit.boxes[block.end - 1].of.layer, "add");
  for (size_t i = 0; i < vit.boxes.size(); ++i)
    EXPECT_EQ(vit.boxes[i].blocks, i >= block.first && i < block.end ? 4 : 1) << i;
  for (const NetworkEdge& edge : vit.edges) EXPECT_LT(edge.from, edge.to);
  // Equal sizes with other lines are not equal blocks.
  const NetworkLayout other =
      lay_out(nn::make_graph(nn::Sequential{nn::Residual(nn::Sequential{nn::Linear(4), nn::Linear(4)}),
                                            nn::Linear(4), nn::Linear(4)},
                             {1, 1, 4}));
  EXPECT_TRUE(other.blocks.empty());
}

TEST(NetworkLayout, EqualLayersAreOneBox) {
  const NetworkLayout mlp = lay_out(graph_of("mlp"));
  ASSERT_EQ(mlp.boxes.size(), 4u);  // input, first, 89 more, last
  EXPECT_EQ(mlp.boxes[1].times, 1);
  EXPECT_EQ(mlp.boxes[2].times, 89);
  EXPECT_EQ(mlp.boxes[3].times, 1);
  // A layer whose output is also an input of an addition is not merged with its equal neighbours.
  const NetworkLayout seen = lay_out(nn::make_graph(
      nn::Residual(nn::Sequential{nn::Linear(4), nn::Residual(nn::Sequential{nn::Linear(4), nn::Linear(4)})}),
      {1, 1, 4}));
  ASSERT_EQ(seen.boxes.size(), 5u);  // input, linear, two linear, and two additions
  EXPECT_EQ(seen.boxes[2].times, 2);
}

TEST(NetworkSvg, DescribesTheNetwork) {
  for (const std::string& name : nn::model_names()) {
    const nn::Graph graph = graph_of(name);
    const std::string svg = network_svg(name, graph);
    EXPECT_EQ(XmlCheck::fault(svg), "") << name;
    EXPECT_EQ(missing(svg, {name + ": " + grouped(graph.parameter_count()) + " parameters"}), "");
    const NetworkLayout layout = lay_out(graph);
    int64_t operations = 0, parameters = 0;
    for (const NetworkBox& box : layout.boxes) {
      if (!box.of.name.empty())
        operations += box.blocks * (box.times + static_cast<int64_t>(box.then.size()));
      parameters += box.blocks * box.times * box.of.parameters;
      for (const nn::SummaryRow& row : box.then) {
        parameters += box.blocks * row.parameters;
        EXPECT_EQ(missing(svg, {", " + row.layer}), "") << name;
      }
      EXPECT_EQ(missing(svg, {">" + text(box.of.output), ">" + box.of.layer}), "") << name;
    }
    EXPECT_EQ(operations, static_cast<int64_t>(graph.nodes().size()));
    EXPECT_EQ(parameters, graph.parameter_count());
    int64_t boxes = 0;
    for (size_t at = 0; (at = svg.find("<g><title>", at)) != std::string::npos; ++at) ++boxes;
    EXPECT_EQ(boxes, static_cast<int64_t>(layout.boxes.size()));
    // In the title and in the box, of merged layers only, and once at a repeated block.
    int64_t times = 0;
    for (size_t at = 0; (at = svg.find(" times", at)) != std::string::npos; ++at) ++times;
    EXPECT_EQ(times, 2 * std::ranges::count_if(layout.boxes, [](const NetworkBox& b) {
                       return b.times > 1;
                     }) + static_cast<int64_t>(layout.blocks.size()));
  }
  EXPECT_EQ(missing(network_svg("mlp", graph_of("mlp")), {"linear 2056, ReLU, 89 times", "parameters each"}),
            "");
}

// A deep network is cut into strips side by side: the picture fits a slide.
TEST(NetworkSvg, IsNotTall) {
  for (const std::string& name : nn::model_names()) {
    const std::string svg = network_svg(name, graph_of(name));
    const size_t at = svg.find(" height=\"") + 9;
    EXPECT_LE(std::stod(svg.substr(at)), 1000) << name;
  }
}

}  // namespace
}  // namespace rondo::program
