// A state dict computes in PyTorch's layouts what the model computes in Rondo's. state_dict_torch_test.py
// compares with PyTorch itself. The file exceeds 400 lines because the tests share one network and
// its definition in PyTorch's layouts.
#include <gtest/gtest.h>

#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/checkpoint/state_dict.h>
#include <rondo/nn/io/safetensors.h>
#include <rondo/nn/layers/attention.h>
#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/conv_transpose2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::error_of;
using test::normal_values;
using test::parameters_of;
using test::read_text;
using test::write_file;

constexpr Shape kInput = {5, 7, 3};
constexpr int64_t kFilters = 4, kHidden = 6, kOutputs = 2;

// All layouts that differ, with sides that all differ: filters, and linear weights before and behind Flatten.
AnyModule network() {
  return Sequential{Conv2d(kFilters, {2, 3}),
                    BatchNorm2d(),
                    ReLU(),
                    Flatten(),
                    Dropout(0.5f),
                    Linear(kHidden),
                    ReLU(),
                    Linear(kOutputs, {.bias = false})};
}

DataParallelOptions options(int ranks = 1, uint64_t seed = 1) {
  DataParallelOptions options = test::small_options(ranks);
  options.seed = seed;
  return options;
}

using Dict = std::map<std::string, std::vector<float>>;

Dict dict_of(const std::string& path) {
  const Safetensors file = read_safetensors(path);
  Dict dict;
  for (const StoredTensor& tensor : file.tensors) {
    auto& values = dict[tensor.name];
    values.resize(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  }
  return dict;
}

// The network as PyTorch's documentation defines its modules, of one image in NCHW.
std::vector<double> logits(Dict& dict, const std::vector<double>& x) {
  const auto& [height, width, channels] = kInput;
  const int64_t p = height - 1, q = width - 2;
  std::vector<double> flat, hidden, result;
  for (int64_t k = 0; k < kFilters; ++k)
    for (int64_t i = 0; i < p; ++i)
      for (int64_t j = 0; j < q; ++j) {
        const auto at = [&](const char* name) { return double{dict[name][static_cast<size_t>(k)]}; };
        double sum = at("0.bias");
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t r = 0; r < 2; ++r)
            for (int64_t s = 0; s < 3; ++s)
              sum += dict["0.weight"][static_cast<size_t>(((k * channels + c) * 2 + r) * 3 + s)] *
                     x[static_cast<size_t>((c * height + i + r) * width + j + s)];
        const double normalised = (sum - at("1.running_mean")) / std::sqrt(at("1.running_var") + 1e-5);
        flat.push_back(std::max(0.0, at("1.weight") * normalised + at("1.bias")));
      }
  const auto linear = [&](const std::string& name, int64_t outputs, const std::vector<double>& from) {
    std::vector<double> to;
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = dict.contains(name + ".bias") ? dict[name + ".bias"][static_cast<size_t>(o)] : 0;
      for (size_t i = 0; i < from.size(); ++i)
        sum += dict[name + ".weight"][static_cast<size_t>(o) * from.size() + i] * from[i];
      to.push_back(sum);
    }
    return to;
  };
  hidden = linear("5", kHidden, flat);
  for (double& value : hidden) value = std::max(0.0, value);
  return linear("7", kOutputs, hidden);
}

class StateDict : public testing::Test {
 protected:
  void edit(const std::function<void(std::vector<StoredTensor>&)>& change) {
    Safetensors file = read_safetensors(path_);
    change(file.tensors);
    write_safetensors(path_, file.tensors, file.metadata);
  }
  // A refused file changes nothing.
  std::string refusal(const StateDictNames& names = {}) {
    DataParallel model(network(), kInput, options());
    const std::vector<float> before = parameters_of(model);
    const std::string message = error_of([&] { load_state_dict(path_, model, names); });
    EXPECT_TRUE(all_equal_bits(parameters_of(model), before));
    EXPECT_TRUE(message.starts_with(path_ + ": ")) << message;
    return message.substr(std::min(message.size(), path_.size() + 2));
  }

  test::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a.safetensors";
  DataParallel model_{network(), kInput, options()};
};

TEST_F(StateDict, ComputesInPyTorchsLayoutsWhatTheModelDoes) {
  Sgd sgd(model_, {.learning_rate = 0.1f});  // running statistics other than 0 and 1
  for (uint64_t step = 0; step < 3; ++step)
    model_.train_step(normal_values(4 * kInput.size(), step), std::vector<int32_t>{0, 1, 1, 0}, sgd);
  save_state_dict(path_, model_);
  Dict dict = dict_of(path_);
  const std::vector<float> x = normal_values(3 * kInput.size(), 9), y = model_.predict(x);
  const auto size = static_cast<size_t>(kInput.size());
  for (size_t n = 0; n < 3; ++n) {
    std::vector<double> nchw(size);
    for (size_t c = 0, i = 0; c < 3; ++c)
      for (size_t pixel = 0; pixel < size / 3; ++pixel, ++i) nchw[i] = x[n * size + pixel * 3 + c];
    const std::vector<double> want = logits(dict, nchw);
    for (size_t o = 0; o < want.size(); ++o)
      EXPECT_NEAR(y[n * want.size() + o], want[o], 1e-5 * std::max(1.0, std::abs(want[o])));
  }
}

// Each pixel of the input adds a filter [in, out of the group, r, s] to the output.
TEST_F(StateDict, ATransposedConvolutionHasPyTorchsLayout) {
  constexpr Shape kSmall = {3, 2, 4};
  constexpr int64_t kOut = 6, kGroups = 2, kOfGroup = kOut / kGroups, kRows = 7, kColumns = 5;
  DataParallel model(
      Sequential{ConvTranspose2d(kOut, {2, 3}, {.stride = 2, .output_padding = {1, 0}, .groups = kGroups}),
                 Flatten()},
      kSmall, options());
  save_state_dict(path_, model);
  EXPECT_EQ(read_safetensors(path_).tensors[0].shape, (std::vector<int64_t>{4, 3, 2, 3}));
  Dict dict = dict_of(path_);
  const std::vector<float> x = normal_values(kSmall.size(), 9), y = model.predict(x);
  std::vector<double> want(static_cast<size_t>(kRows * kColumns * kOut));  // NHWC
  for (size_t i = 0; i < want.size(); ++i) want[i] = double{dict["0.bias"][i % kOut]};
  for (int64_t k = 0; k < 4; ++k)
    for (int64_t pixel = 0; pixel < 6; ++pixel)
      for (int64_t e = 0; e < kOfGroup * 6; ++e) {
        const int64_t h = pixel / 2 * 2 + e % 6 / 3, w = pixel % 2 * 2 + e % 3,
                      out = k / (4 / kGroups) * kOfGroup + e / 6;
        want[static_cast<size_t>((h * kColumns + w) * kOut + out)] +=
            double{dict["0.weight"][static_cast<size_t>(k * kOfGroup * 6 + e)]} *
            double{x[static_cast<size_t>(pixel * 4 + k)]};
      }
  ASSERT_EQ(y.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-5) << i;
  DataParallel other(
      Sequential{ConvTranspose2d(kOut, {2, 3}, {.stride = 2, .output_padding = {1, 0}, .groups = kGroups}),
                 Flatten()},
      kSmall, options(1, 7));
  load_state_dict(path_, other);
  EXPECT_TRUE(all_equal_bits(parameters_of(other), parameters_of(model)));
}

TEST_F(StateDict, HasPyTorchsNamesAndShapes) {
  save_state_dict(path_, model_);
  std::string tensors;
  const Safetensors file = read_safetensors(path_);
  for (const StoredTensor& tensor : file.tensors)
    tensors += tensor.name + " " + text_of(tensor.type, tensor.shape) + "\n";
  EXPECT_EQ(tensors,
            "0.weight F32 [4, 3, 2, 3]\n0.bias F32 [4]\n1.weight F32 [4]\n1.bias F32 [4]\n"
            "5.weight F32 [6, 80]\n5.bias F32 [6]\n7.weight F32 [2, 6]\n"
            "1.running_mean F32 [4]\n1.running_var F32 [4]\n");
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
}

// state_dict_torch_test.py has a whole vision transformer.
TEST_F(StateDict, AttentionHasTheNamesAndShapesOfPyTorch) {
  const Sequential network{PositionEmbedding(), MultiHeadAttention(2), PositionwiseLinear(6)};
  DataParallel model(network, {3, 2, 4}, {.devices = {0}, .batch = 2});
  save_state_dict(path_, model, {{"0.weight", "pos"}, {"1", "attention"}});
  std::string tensors;
  for (const StoredTensor& tensor : read_safetensors(path_).tensors)
    tensors += tensor.name + " " + text_of(tensor.type, tensor.shape) + "\n";
  EXPECT_EQ(tensors,
            "pos F32 [1, 6, 4]\nattention.in_proj_weight F32 [12, 4]\nattention.in_proj_bias F32 [12]\n"
            "attention.out_proj.weight F32 [4, 4]\nattention.out_proj.bias F32 [4]\n"
            "2.weight F32 [6, 4]\n2.bias F32 [6]\n");
  // Sides of 1 have no meaning: a convolution of 1 x 1, and positions without the batch.
  edit([](std::vector<StoredTensor>& all) {
    for (StoredTensor& tensor : all) {
      if (tensor.name == "pos") tensor.shape = {6, 4};
      if (tensor.name == "2.weight") tensor.shape = {6, 4, 1, 1};
    }
  });
  load_state_dict(path_, model, {{"0.weight", "pos"}, {"1", "attention"}});
}

// As timm has them: in_proj is a module there, too.
TEST_F(StateDict, ParametersOfAttentionCanHaveOtherNames) {
  DataParallel model(Sequential{MultiHeadAttention(2)}, {3, 2, 4}, {.devices = {0}, .batch = 2});
  const auto names_with = [&](const StateDictNames& names) {
    save_state_dict(path_, model, names);
    load_state_dict(path_, model, names);
    std::string text;
    for (const StoredTensor& tensor : read_safetensors(path_).tensors) text += tensor.name + " ";
    return text;
  };
  EXPECT_EQ(names_with({{"0", "attn"}, {"0.in_proj", "attn.qkv"}}),
            "attn.qkv.weight attn.qkv.bias attn.out_proj.weight attn.out_proj.bias ");
  EXPECT_EQ(names_with({{"0.in_proj_weight", "w"}, {"0.in_proj.bias", "b"}}),
            "w b 0.out_proj.weight 0.out_proj.bias ");
}

// A positionwise layer of a flattened image has the order of inputs of a linear one.
TEST_F(StateDict, PositionwiseLayersBehindFlattenHaveTheOrderOfPyTorch) {
  const std::string linear_path = path_ + ".linear";
  DataParallel linear(Sequential{Flatten(), Linear(6)}, {3, 2, 4}, {.devices = {0}, .batch = 2});
  DataParallel positionwise(Sequential{Flatten(), PositionwiseLinear(6)}, {3, 2, 4},
                            {.devices = {0}, .batch = 2});
  save_state_dict(linear_path, linear);
  load_state_dict(linear_path, positionwise);
  const std::vector<float> images = test::normal_values(2 * 3 * 2 * 4, 1);
  const std::vector<float> want = linear.predict(images), found = positionwise.predict(images);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(found[i], want[i], 1e-5) << i;
}

// What a linear layer computes has no pixels, also if it has as many values as the image before Flatten.
TEST_F(StateDict, OnlyTheFirstLinearLayerBehindFlattenHasTheOrderOfPixels) {
  constexpr Shape kImage = {3, 2, 4};
  const Sequential network{Flatten(), Linear(kImage.size()), Linear(6)};
  DataParallel of_vectors(network, {1, 1, kImage.size()}, {.devices = {0}, .batch = 2});
  DataParallel of_images(network, kImage, {.devices = {0}, .batch = 2, .seed = 7});
  save_state_dict(path_, of_vectors);
  load_state_dict(path_, of_images);
  const std::vector<float> planes = normal_values(kImage.size(), 1);  // flattened as in PyTorch: NCHW
  std::vector<float> pixels;
  for (size_t pixel = 0; pixel < 6; ++pixel)
    for (size_t c = 0; c < 4; ++c) pixels.push_back(planes[c * 6 + pixel]);
  const std::vector<float> want = of_vectors.predict(planes), found = of_images.predict(pixels);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(found[i], want[i], 1e-5) << i;
}

TEST_F(StateDict, GoesThereAndBackBitForBitOnAnyNumberOfDevices) {
  for (const auto& [module, input] : {std::pair(network(), kInput), std::pair(resnet18(), Shape{28, 28, 1}),
                                      std::pair(lenet(), Shape{28, 28, 1})}) {
    DataParallel one(module, input, options(1, 5)), three(module, input, options(3, 6));
    save_state_dict(path_, one);
    const std::string file = read_text(path_);
    load_state_dict(path_, three);
    EXPECT_TRUE(all_equal_bits(parameters_of(three), parameters_of(one)));
    save_state_dict(path_, three);
    EXPECT_EQ(read_text(path_), file);
  }
}

// A file with every name moved to another place reads as the one without.
TEST_F(StateDict, NamesAreThoseOfTheOtherModule) {
  const StateDictNames names = {{"", "net"}, {"0", "stem.conv"}, {"5", "head"}};
  save_state_dict(path_, model_, names);
  Dict dict = dict_of(path_);
  for (const char* name :
       {"stem.conv.weight", "stem.conv.bias", "net.1.running_var", "head.weight", "net.7.weight"})
    EXPECT_TRUE(dict.contains(name)) << name;
  EXPECT_EQ(dict.size(), 9u);
  DataParallel other(network(), kInput, options(1, 8));
  load_state_dict(path_, other, names);
  EXPECT_TRUE(all_equal_bits(parameters_of(other), parameters_of(model_)));
  EXPECT_EQ(refusal({{"0", "stem"}}).find("it is not a state dict of this model: missing: 'stem.weight' "),
            0u);
  EXPECT_EQ(refusal({{"9", "stem"}}), "names: no tensor of the model begins with '9'");
  StateDictNames of_file = {{"9", "stem"}};
  of_file.file = "names.json";
  EXPECT_EQ(error_of([&] { load_state_dict(path_, model_, of_file); }),
            "names.json: no tensor of the model begins with '9'");
  EXPECT_EQ(refusal({{"0", "1"}}), "names: '0.weight' and '1.weight' both become '1.weight'");
}

// A name is replaced as a whole: "1" is not the beginning of "10".
TEST_F(StateDict, PathsAreReplacedAsAWhole) {
  std::vector<AnyModule> modules;
  for (int i = 0; i < 11; ++i) modules.push_back(Linear(2));
  DataParallel model(Sequential(modules), {1, 1, 2}, options());
  save_state_dict(path_, model, {{"1", "one"}});
  const Dict dict = dict_of(path_);
  EXPECT_TRUE(dict.contains("one.weight"));
  EXPECT_TRUE(dict.contains("10.weight"));
}

TEST_F(StateDict, SixteenBitsAndBatchCountersAreRead) {
  save_state_dict(path_, model_);
  std::vector<uint16_t> bf16, fp16;
  const int64_t steps = 7;
  edit([&](std::vector<StoredTensor>& tensors) {
    for (StoredTensor& tensor : tensors) {
      if (tensor.name != "1.bias" && tensor.name != "1.weight") continue;
      const bool is_bf16 = tensor.name == "1.bias";
      (is_bf16 ? bf16 : fp16) = is_bf16 ? std::vector<uint16_t>{0x3F80, 0xC000, 0x0001, 0x7F7F}
                                        : std::vector<uint16_t>{0x3C00, 0xC000, 0x0001, 0x7BFF};
      tensor.type = is_bf16 ? StoredType::bf16 : StoredType::f16;
      const auto& values = is_bf16 ? bf16 : fp16;
      tensor.bytes = std::as_bytes(std::span(values));
    }
    tensors.push_back({"1.num_batches_tracked", StoredType::i64, {}, std::as_bytes(std::span(&steps, 1))});
  });
  load_state_dict(path_, model_);
  save_state_dict(path_, model_);
  Dict dict = dict_of(path_);
  EXPECT_EQ(dict["1.bias"], (std::vector<float>{1, -2, 0x1p-133f, 0x1.FEp127f}));
  EXPECT_EQ(dict["1.weight"], (std::vector<float>{1, -2, 0x1p-24f, 65504}));
}

// Without a momentum the number of batches is part of the statistics: I64, as in PyTorch.
TEST_F(StateDict, CountedBatchesGoThereAndBack) {
  const Sequential counted{Conv2d(4, 1), BatchNorm2d({.momentum = std::nullopt}), Flatten(), Linear(2)};
  const auto steps = [](DataParallel& model, uint64_t first, uint64_t last) {
    Sgd sgd(model);
    for (uint64_t step = first; step < last; ++step)
      model.train_step(normal_values(4 * kInput.size(), step), std::vector<int32_t>{0, 1, 1, 0}, sgd);
  };
  DataParallel straight(counted, kInput, options()), first(counted, kInput, options()),
      second(counted, kInput, options(3, 9));
  steps(first, 0, 3);
  save_state_dict(path_, first);
  const Safetensors file = read_safetensors(path_);
  const StoredTensor* const count = file.find("1.num_batches_tracked");
  ASSERT_TRUE(count);
  EXPECT_EQ(text_of(count->type, count->shape), "I64 []");
  int64_t value = 0;
  std::memcpy(&value, count->bytes.data(), sizeof(value));
  EXPECT_EQ(value, 3);
  const std::string bytes = read_text(path_);
  load_state_dict(path_, second);
  save_state_dict(path_, second);
  EXPECT_EQ(read_text(path_), bytes);
  // A training that goes on with them is the one without a break.
  DataParallel third(counted, kInput, options(1, 9));
  load_state_dict(path_, third);
  steps(third, 3, 5);
  steps(straight, 0, 5);
  save_state_dict(path_, third);
  save_state_dict(path_ + ".straight", straight);
  EXPECT_EQ(read_text(path_), read_text(path_ + ".straight"));

  const auto refused = [&](const std::function<void(StoredTensor&)>& change) {
    edit([&](std::vector<StoredTensor>& tensors) { change(tensors[0]); });
    const std::string message = error_of([&] { load_state_dict(path_, second); });
    return message.substr(std::min(message.size(), path_.size() + 2));
  };
  const int64_t negative = -2;
  EXPECT_TRUE(refused([&](StoredTensor& t) {
                t.bytes = std::as_bytes(std::span(&negative, 1));
              }).starts_with("its tensor '1.num_batches_tracked' is -2, must be 0 to "));
  const float three = 3;
  EXPECT_EQ(refused([&](StoredTensor& t) {
              t.type = StoredType::f32;
              t.bytes = std::as_bytes(std::span(&three, 1));
            }),
            "it is not a state dict of this model: of another shape or type: '1.num_batches_tracked' F32 [], "
            "must be I64 []");
  const uint16_t narrow_three = 0x4200;  // as float16; only float32 can be stored in 16 bits
  EXPECT_EQ(refused([&](StoredTensor& t) {
              t.type = StoredType::f16;
              t.bytes = std::as_bytes(std::span(&narrow_three, 1));
            }),
            "it is not a state dict of this model: of another shape or type: '1.num_batches_tracked' F16 [], "
            "must be I64 []");
  edit([](std::vector<StoredTensor>& tensors) {
    std::erase_if(tensors, [](const StoredTensor& t) { return t.name == "1.num_batches_tracked"; });
  });
  EXPECT_NE(error_of([&] { load_state_dict(path_, second); }).find("missing: '1.num_batches_tracked' I64 []"),
            std::string::npos);
}

TEST_F(StateDict, DoublesAreRoundedToNearest) {
  save_state_dict(path_, model_);
  std::vector<double> values = {1 + 0x1p-24 + 0x1p-40, -0x1.FFFFFEp127, 0x1p-149, -INFINITY};
  const auto with_doubles = [&](std::vector<StoredTensor>& tensors) {
    for (StoredTensor& tensor : tensors) {
      if (tensor.name != "1.bias") continue;
      tensor.type = StoredType::f64;
      tensor.bytes = std::as_bytes(std::span(values));
    }
  };
  edit(with_doubles);
  load_state_dict(path_, model_);
  const std::string written = directory_ / "b.safetensors";
  save_state_dict(written, model_);
  EXPECT_EQ(dict_of(written)["1.bias"],
            (std::vector<float>{1 + 0x1p-23f, -0x1.FFFFFEp127f, 0x1p-149f, -INFINITY}));
  values[1] = 1e39;
  edit(with_doubles);
  EXPECT_EQ(refusal(), "tensor '1.bias' has the value 1e+39 (F64), which no float32 is near");
}

TEST_F(StateDict, BuffersOfIntegersThatTheModelDoesNotHaveAreLeftOut) {
  save_state_dict(path_, model_);
  const std::vector<int64_t> values = {-1, -1};
  const auto bytes = std::as_bytes(std::span(values));
  edit([&](std::vector<StoredTensor>& tensors) {
    for (const StoredType type :
         {StoredType::boolean, StoredType::u8, StoredType::i8, StoredType::u16, StoredType::i16,
          StoredType::u32, StoredType::i32, StoredType::u64, StoredType::i64})
      tensors.push_back(
          {concat("buffer.", name_of(type)), type, {2}, bytes.first(2 * static_cast<size_t>(size_of(type)))});
  });
  const std::vector<float> before = parameters_of(model_);
  DataParallel other(network(), kInput, options());
  load_state_dict(path_, other);
  EXPECT_TRUE(all_equal_bits(parameters_of(other), before));
  for (const StoredType type : {StoredType::f8_e5m2, StoredType::f8_e4m3, StoredType::f8_e8m0,
                                StoredType::f16, StoredType::c64, StoredType::f64}) {
    save_state_dict(path_, model_);
    edit([&](std::vector<StoredTensor>& tensors) {
      tensors.push_back({"more", type, {2}, bytes.first(2 * static_cast<size_t>(size_of(type)))});
    });
    EXPECT_TRUE(refusal().starts_with("it is not a state dict of this model: not of the model: 'more' "))
        << name_of(type);
  }
}

// A parameter of a type that is not real is an error with its name, its type and the file.
TEST_F(StateDict, ParametersOfOtherTypesAreRefused) {
  const std::vector<std::byte> zeros(4 * sizeof(int64_t));
  for (const StoredType type : {StoredType::boolean, StoredType::i8, StoredType::f8_e4m3, StoredType::i64}) {
    save_state_dict(path_, model_);
    edit([&](std::vector<StoredTensor>& tensors) {
      for (StoredTensor& tensor : tensors) {
        if (tensor.name != "1.bias") continue;
        tensor.type = type;
        tensor.bytes = std::span(zeros).first(4 * static_cast<size_t>(size_of(type)));
      }
    });
    EXPECT_EQ(refusal(), concat("it is not a state dict of this model: of another shape or type: '1.bias' ",
                                name_of(type), " [4], must be F32 [4]"));
  }
}

TEST_F(StateDict, WhatDoesNotFitIsListed) {
  save_state_dict(path_, model_);
  edit([](std::vector<StoredTensor>& tensors) {
    std::erase_if(tensors, [](const StoredTensor& t) { return t.name == "0.bias"; });
    for (StoredTensor& tensor : tensors) {
      if (tensor.name == "7.weight") tensor.shape = {6, 2};
      if (tensor.name == "5.bias") tensor.type = StoredType::i32;
      if (tensor.name == "1.weight") tensor.name = "extra";
    }
  });
  EXPECT_EQ(
      refusal(),
      "it is not a state dict of this model: missing: '0.bias' F32 [4], '1.weight' F32 [4]; of another "
      "shape or type: '5.bias' I32 [6], must be F32 [6], '7.weight' F32 [6, 2], must be F32 [2, 6]; not "
      "of the model: 'extra' F32 [4]");
  edit([](std::vector<StoredTensor>& tensors) { tensors.clear(); });
  EXPECT_EQ(refusal(),
            "it is not a state dict of this model: missing: '0.weight' F32 [4, 3, 2, 3], '0.bias' F32 [4], "
            "'1.weight' F32 [4], '1.bias' F32 [4], '5.weight' F32 [6, 80] and 4 more");
  write_file(path_, test::bytes_of("PK"));
  EXPECT_NE(refusal().find("too few for a safetensors file"), std::string::npos);
}

TEST_F(StateDict, LoadWeightsReadsBothKinds) {
  save_state_dict(path_, model_);
  DataParallel other(network(), kInput, options(1, 8)), third(network(), kInput, options(1, 9));
  load_weights(path_, other);
  EXPECT_TRUE(all_equal_bits(parameters_of(other), parameters_of(model_)));
  save_parameters(path_, model_);
  load_weights(path_, third);
  EXPECT_TRUE(all_equal_bits(parameters_of(third), parameters_of(model_)));
  EXPECT_NE(error_of([&] {
              load_weights(path_, third, {{"0", "conv"}});
            }).find("must be read without names"),
            std::string::npos);
}

TEST_F(StateDict, NamesAreReadFromJson) {
  const std::string path = directory_ / "names.json";
  write_file(path, test::bytes_of("{\"0\": \"conv1\", \"\": \"net\"}"));
  EXPECT_EQ(read_state_dict_names(path), (StateDictNames{{"0", "conv1"}, {"", "net"}}));
  for (const auto& [text, why] :
       {std::pair("[]", "it is no JSON object"), std::pair("{\"0\": 1}", "'0' has no string"),
        std::pair("{", "it is no JSON at byte 2, must be such as {\""), std::pair("", "it is no JSON at")}) {
    write_file(path, test::bytes_of(text));
    const std::string message = error_of([&] { read_state_dict_names(path); });
    EXPECT_TRUE(message.starts_with(path + ": " + why)) << message;
  }
}

// A file with more values than the memory has room for.
TEST_F(StateDict, ValuesOfAnotherModelAreNotRead) {
  const int64_t bytes = int64_t{1} << 42;
  std::string head =
      concat(R"({"a":{"dtype":"F32","shape":[)", bytes / 4, R"(],"data_offsets":[0,)", bytes, "]}}");
  const uint64_t length = head.size();
  head.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
  write_file(path_, test::bytes_of(head));
  std::error_code error;
  std::filesystem::resize_file(path_, head.size() + static_cast<uint64_t>(bytes), error);
  if (error) GTEST_SKIP() << "the folder has no sparse files: " << error.message();
  EXPECT_NE(refusal().find("it is not a state dict of this model: missing: '"), std::string::npos);
  EXPECT_FALSE(read_training_state(path_).has_value());
}

}  // namespace
}  // namespace rondo::nn
