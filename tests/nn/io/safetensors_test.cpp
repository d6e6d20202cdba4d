// safetensors: written files follow the format, and any file is either read correctly or refused.
#include <gtest/gtest.h>

#include <rondo/nn/io/safetensors.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/inputs.h>
#include <sys/stat.h>

#include <cstring>
#include <limits>

namespace rondo {
namespace {

using test::error_of;

// Builds a file by hand, following the specification.
std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

template <class T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class SafetensorsFile : public testing::Test {
 protected:
  Safetensors read(const std::string& contents) {
    test::write_file(path_, test::bytes_of(contents));
    return read_safetensors(path_);
  }
  std::string refusal(const std::string& contents) {
    const std::string message = error_of([&] { read(contents); });
    EXPECT_TRUE(message.starts_with(path_ + ": ")) << message;
    return message.substr(std::min(message.size(), path_.size() + 2));
  }
  // The error for a header followed by `data` bytes.
  std::string refused_header(const std::string& header, size_t data = 0) {
    return refusal(file_of(header, std::string(data, 'x')));
  }
  // The error for one tensor "a" with these fields, followed by eight bytes.
  std::string refused_tensor(const std::string& fields) {
    return refused_header("{\"a\":{" + fields + "}}", 8);
  }

  test::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a.safetensors";
};

TEST_F(SafetensorsFile, WritesWhatTheFormatSays) {
  const std::vector<float> weights = {1.5f, -2, 0.25f};
  const std::vector<int64_t> steps = {-7};
  const std::vector<uint8_t> flags = {1, 255};
  write_safetensors(path_,
                    std::vector<StoredTensor>{{"w\"1", StoredType::f32, {3, 1}, bytes(weights)},
                                              {"flags", StoredType::u8, {2}, bytes(flags)},
                                              {"steps", StoredType::i64, {}, bytes(steps)}},
                    {{"format", "a\n"}});
  std::string header = R"({"__metadata__":{"format":"a\n"},)"
                       R"("steps":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                       R"("w\"1":{"dtype":"F32","shape":[3,1],"data_offsets":[8,20]},)"
                       R"("flags":{"dtype":"U8","shape":[2],"data_offsets":[20,22]}})";
  while (header.size() % 8 != 0) header += ' ';
  EXPECT_EQ(test::read_text(path_),
            file_of(header, raw<int64_t>({-7}) + raw({1.5f, -2.0f, 0.25f}) + raw<uint8_t>({1, 255})));
  EXPECT_EQ(directory_.files(), 1u) << "a temporary is left";
}

TEST_F(SafetensorsFile, ReadsWhatTheFormatAllows) {
  // Header of any length, data in any order, empty tensors, a scalar, escapes, spaces.
  const Safetensors file =
      read(file_of(R"({"b": {"shape":[2],"data_offsets":[12,16],"dtype":"F16"},)"
                   R"("\u00e9\n":{"dtype":"F64","shape":[],"data_offsets":[4,12]},)"
                   R"("none":{"dtype":"I32","shape":[3,0],"data_offsets":[4,4]},)"
                   R"("__metadata__":{},"c":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]}}  )",
                   "cccc" + raw({0.1}) + "bbbb"));
  ASSERT_EQ(file.tensors.size(), 4u);
  EXPECT_TRUE(file.metadata.empty());
  const char* names[] = {"c", "none", "\u00e9\n", "b"};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(file.tensors[i].name, names[i]);
  EXPECT_EQ(file.find("d"), nullptr);
  EXPECT_EQ(text(file.find("c")->bytes), "cccc");
  EXPECT_EQ(text(file.find("b")->bytes), "bbbb");
  EXPECT_EQ(text(file.tensors[2].bytes), raw({0.1}));
  EXPECT_TRUE(file.find("none")->bytes.empty());
  EXPECT_EQ(file.find("none")->shape, (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(file.find("none")->type, StoredType::i32);
  EXPECT_EQ(file.find("b")->type, StoredType::f16);
  EXPECT_TRUE(read(file_of("{}", "")).tensors.empty());
}

TEST_F(SafetensorsFile, EverythingComesBack) {
  const std::vector<std::byte> data = [] {
    std::vector<std::byte> values;
    for (int i = 0; i < 4096; ++i) values.push_back(static_cast<std::byte>(i * 37 + i / 256));
    return values;
  }();
  std::vector<StoredTensor> tensors;
  size_t begin = 0;
  for (int64_t rows : {0, 1, 3})
    for (StoredType type : {StoredType::u8, StoredType::bf16, StoredType::f16, StoredType::i32,
                            StoredType::f32, StoredType::i64, StoredType::f64}) {
      const auto size = static_cast<size_t>(bytes_of(type, {rows, 5}));
      tensors.push_back(
          {concat(name_of(type), '.', rows), type, {rows, 5}, std::span(data).subspan(begin, size)});
      begin += size;
    }
  const std::map<std::string, std::string> metadata = {{"", "x"}, {"quote\"", std::string(1, '\0')}};
  write_safetensors(path_, tensors, metadata);
  const Safetensors file = read_safetensors(path_);
  EXPECT_EQ(file.metadata, metadata);
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (const StoredTensor& want : tensors) {
    const StoredTensor* got = file.find(want.name);
    ASSERT_TRUE(got) << want.name;
    EXPECT_EQ(got->type, want.type) << want.name;
    EXPECT_EQ(got->shape, want.shape) << want.name;
    EXPECT_EQ(text(got->bytes), text(want.bytes)) << want.name;
    EXPECT_EQ((got->bytes.data() - file.data.get()) % size_of(got->type), 0)
        << want.name << " is not aligned";
  }
}

TEST_F(SafetensorsFile, EveryTypeOfAtLeastAByteIsRead) {
  struct Type {
    const char* name;
    size_t size;
  };
  for (const auto& [name, size] : {Type{"BOOL", 1},
                                   {"U8", 1},
                                   {"I8", 1},
                                   {"F8_E5M2", 1},
                                   {"F8_E4M3", 1},
                                   {"F8_E8M0", 1},
                                   {"U16", 2},
                                   {"I16", 2},
                                   {"F16", 2},
                                   {"BF16", 2},
                                   {"U32", 4},
                                   {"I32", 4},
                                   {"F32", 4},
                                   {"C64", 8},
                                   {"U64", 8},
                                   {"I64", 8},
                                   {"F64", 8}}) {
    const std::string values(3 * size, 'v');
    const std::string header = concat(R"({"a":{"dtype":")", name, R"(","shape":[3],"data_offsets":[0,)",
                                      values.size(), R"(]},"b":{"dtype":"U8","shape":[1],"data_offsets":[)",
                                      values.size(), ",", values.size() + 1, "]}}");
    const Safetensors file = read(file_of(header, values + "b"));
    const StoredTensor* const tensor = file.find("a");
    ASSERT_TRUE(tensor) << name;
    EXPECT_STREQ(name_of(tensor->type), name);
    EXPECT_EQ(text(tensor->bytes), values) << name;
    write_safetensors(path_, file.tensors);
    EXPECT_STREQ(name_of(read_safetensors(path_).find("a")->type), name);
  }
}

// The expected values are from Python's zlib.
TEST_F(SafetensorsFile, ChecksumIsThatOfTheContentsInOrder) {
  const std::vector<uint8_t> digits = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  const std::vector<float> one = {1};
  const StoredTensor b = {"b", StoredType::u8, {9}, bytes(digits)},
                     a = {"a", StoredType::f32, {1}, bytes(one)};
  const uint32_t want = 3214286622u;
  EXPECT_EQ(checksum(std::vector{b, a}, {{"k", "v"}}), want);
  EXPECT_EQ(checksum(std::vector{a, b}, {{"k", "v"}}), want);
  const StoredTensor none = {"c", StoredType::u8, {0}, {}};
  EXPECT_EQ(checksum(std::vector{a, none, b}, {{"k", "v"}}), 1752994371u);
}

TEST_F(SafetensorsFile, RefusesWhatIsNotOne) {
  EXPECT_EQ(refusal(""), "has 0 bytes, too few for a safetensors file, which begins with 8 bytes of length");
  EXPECT_EQ(refusal("1234567"),
            "has 7 bytes, too few for a safetensors file, which begins with 8 bytes of length");
  EXPECT_EQ(refusal(raw<int64_t>({3}) + "{}"),
            "its header has 3 bytes, but only 2 follow: not a safetensors file, or cut off");
  EXPECT_EQ(
      refusal(raw<int64_t>({100'000'001})),
      "its header has 100000001 bytes, must have at most 100000000: not a safetensors file, or damaged");
  EXPECT_EQ(refusal(raw<int64_t>({-1}) + "{}"),
            "its header has 18446744073709551615 bytes, must have at most 100000000: not a safetensors file, "
            "or damaged");
  const std::string none = "the header does not begin with '{': not a safetensors file";
  for (const char* header : {"", " {}", "[]", "\xef\xbb\xbf{}"})
    EXPECT_EQ(refused_header(header), none) << header;
}

TEST_F(SafetensorsFile, RefusesWhatIsNoOrdinaryFile) {
  EXPECT_EQ(error_of([&] { read_safetensors(directory_ / "none"); }),
            "'" + directory_ / "none" + "' can't be opened (No such file or directory)");
  EXPECT_EQ(error_of([&] { read_safetensors(directory_.path()); }),
            "'" + directory_.path().string() + "' is a folder, must be a regular file");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { read_safetensors(path_); }), "'" + path_ + "' is a pipe, must be a regular file");
  EXPECT_EQ(error_of([] { read_safetensors("/dev/null"); }),
            "'/dev/null' is a character device, must be a regular file");
}

TEST_F(SafetensorsFile, RefusesWhatIsNotJson) {
  const auto wrong_at = [](int byte) {
    return concat("the header is not JSON: it goes wrong at its byte ", byte);
  };
  EXPECT_EQ(refused_header("{"), wrong_at(2));
  EXPECT_EQ(refused_header("{} {}"), wrong_at(4));
  EXPECT_EQ(refused_header("{'a':1}"), wrong_at(2));
  EXPECT_EQ(refused_header("{\"\xff\":{}}"), wrong_at(3));
  EXPECT_EQ(refused_header("{} \t "), "the header ends with byte 9, must be padded with spaces");
  EXPECT_EQ(refused_header(std::string("{}\0", 3)), wrong_at(3));
}

TEST_F(SafetensorsFile, RefusesAnotherStructure) {
  EXPECT_EQ(refused_header(R"({"a":1})"), "'a' holds a number, which has no place there");
  EXPECT_EQ(refused_header(R"({"a":-1})"), "'a' holds -1, must not be negative");
  EXPECT_EQ(refused_header(R"({"a":"b"})"), "'a' holds text, which has no place there");
  EXPECT_EQ(refused_header(R"({"a":null})"), "'a' holds null, which has no place there");
  EXPECT_EQ(refused_header(R"({"a":[]})"), "'a' holds a list, which has no place there");
  EXPECT_EQ(refused_header(R"({"__metadata__":{"a":{}}})"), "'a' holds an object, which has no place there");
  EXPECT_EQ(refused_header(R"({"__metadata__":{"a":true}})"),
            "'a' holds a boolean, which has no place there");
  EXPECT_EQ(refused_header(R"({"__metadata__":{"a":"1","a":"2"}})"), "'a' is there twice");
  EXPECT_EQ(refused_header(R"({"__metadata__":{},"__metadata__":{}})"), "'__metadata__' is there twice");
  // Deep nesting is refused at the first level that the format does not allow.
  const std::string deep(1'000'000, '[');
  EXPECT_EQ(refused_tensor("\"shape\":" + deep),
            "shape of tensor 'a' holds a list, which has no place there");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(refused_header(objects), "tensor 'a' has an unknown field 'a'");
}

TEST_F(SafetensorsFile, RefusesATensorThatIsNotOne) {
  EXPECT_EQ(refused_tensor(R"("dtype":"F64","shape":[1])"), "tensor 'a' has no data_offsets");
  EXPECT_EQ(refused_tensor(R"("dtype":"F64","data_offsets":[0,8])"), "tensor 'a' has no shape");
  EXPECT_EQ(refused_tensor(R"("shape":[],"data_offsets":[0,8])"), "tensor 'a' has no dtype");
  EXPECT_EQ(refused_tensor(""), "tensor 'a' has no dtype");
  const std::string types =
      "BOOL, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, U16, I16, F16, BF16, U32, I32, F32, C64, U64, I64 or F64";
  EXPECT_EQ(refused_tensor(R"("dtype":"F4")"), "dtype of tensor 'a' is 'F4', must be " + types);
  EXPECT_EQ(refused_tensor(R"("dtype":"f32")"), "dtype of tensor 'a' is 'f32', must be " + types);
  EXPECT_EQ(refused_tensor(R"("dtype":["F32"])"),
            "dtype of tensor 'a' holds a list, which has no place there");
  EXPECT_EQ(refused_tensor(R"("dtype":"F32","dtype":"F32")"), "dtype of tensor 'a' is there twice");
  EXPECT_EQ(refused_tensor(R"("strides":[1])"), "tensor 'a' has an unknown field 'strides'");
  EXPECT_EQ(refused_tensor(R"("shape":2)"), "shape of tensor 'a' holds a number, which has no place there");
  EXPECT_EQ(refused_tensor(R"("shape":"2")"), "shape of tensor 'a' holds text, which has no place there");
  EXPECT_EQ(refused_tensor(R"("shape":["2"])"), "shape of tensor 'a' holds text, which has no place there");
  EXPECT_EQ(refused_tensor(R"("shape":[2,-1])"), "shape of tensor 'a' holds -1, must not be negative");
  EXPECT_EQ(refused_tensor(R"("shape":[2.0])"),
            "shape of tensor 'a' holds 2.0, must hold integers below 2^63");
  EXPECT_EQ(refused_tensor(R"("shape":[9223372036854775808])"),
            "shape of tensor 'a' holds 9223372036854775808, must be below 2^63");
  EXPECT_EQ(refused_tensor(R"("shape":[99999999999999999999])"),
            "shape of tensor 'a' holds 99999999999999999999, must hold integers below 2^63");
  std::string many = "1";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_EQ(refused_tensor("\"shape\":[" + many + "]"), "shape of tensor 'a' has more than 64 numbers");
  EXPECT_EQ(refused_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{}})", 1),
            "'a' is there twice");
}

TEST_F(SafetensorsFile, RefusesPlacesThatDoNotFit) {
  const auto placed = [&](const std::string& shape, const std::string& offsets) {
    return refused_tensor("\"dtype\":\"F32\",\"shape\":[" + shape + "],\"data_offsets\":[" + offsets + "]");
  };
  EXPECT_EQ(placed("2", "0"), "data_offsets of tensor 'a' has 1 number, must have 2");
  EXPECT_EQ(placed("2", "0,4,8"), "data_offsets of tensor 'a' has more than 2 numbers");
  EXPECT_EQ(placed("2", "0,12"), "tensor 'a' ends at byte 12 of the data, of which there are 8");
  EXPECT_EQ(placed("2", "8,0"), "tensor 'a' ends at byte 0, before it begins, at 8");
  EXPECT_EQ(placed("3", "0,8"), "tensor 'a' is F32 [3], which is 12 bytes, but has 8");
  EXPECT_EQ(placed("1", "0,4"), "the last tensor ends at byte 4 of the data, but there are 8");
  EXPECT_EQ(placed("1", "4,8"), "tensor 'a' begins at byte 4, must begin at 0, where the one before it ends");
  // Products that wrap around to the right size: 2^62 x 4 bytes + 8, and one with a zero at the end.
  EXPECT_EQ(placed("4611686018427387904,2", "0,0"),
            "tensor 'a' is F32 [4611686018427387904, 2], which is more than 2^63 bytes");
  EXPECT_EQ(placed("4611686018427387904,4611686018427387904,0", "0,0"),
            "tensor 'a' is F32 [4611686018427387904, 4611686018427387904, 0], which is more than 2^63 bytes");
  EXPECT_EQ(refused_header("{}", 1), "the last tensor ends at byte 0 of the data, but there are 1");

  const auto two = [&](const std::string& first, const std::string& second) {
    return refused_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[)" + first +
                              R"(]},"b":{"dtype":"U8","shape":[4],"data_offsets":[)" + second + "]}}",
                          8);
  };
  EXPECT_EQ(two("0,4", "2,6"), "tensor 'b' begins at byte 2, must begin at 4, where the one before it ends");
  EXPECT_EQ(two("0,4", "0,4"), "tensor 'b' begins at byte 0, must begin at 4, where the one before it ends");
  EXPECT_EQ(two("5,8", "0,4"), "tensor 'a' begins at byte 5, must begin at 4, where the one before it ends");
}

TEST_F(SafetensorsFile, MessagesStayReadable) {
  EXPECT_EQ(refused_header("{\"" + std::string(100'000, 'n') + "\\u0007\":1}"),
            "'" + std::string(80, 'n') + "...' holds a number, which has no place there");
  EXPECT_EQ(refused_header(R"({"a\nb":1})"), "'a\\nb' holds a number, which has no place there");
}

TEST_F(SafetensorsFile, RefusesToWriteWhatCouldNotBeRead) {
  const std::vector<float> two = {1, 2};
  const auto refused = [&](std::vector<StoredTensor> tensors,
                           std::map<std::string, std::string> metadata = {}) {
    return error_of([&] { write_safetensors(path_, tensors, metadata); });
  };
  EXPECT_EQ(refused({{"a", StoredType::f32, {3}, bytes(two)}}),
            path_ + ": tensor 'a' is F32 [3], which does not belong to 8 bytes");
  EXPECT_EQ(refused({{"a", StoredType::f32, {-2}, bytes(two)}}),
            path_ + ": tensor 'a' is F32 [-2], which does not belong to 8 bytes");
  EXPECT_EQ(refused({{"a", StoredType::f32, {2}, bytes(two)}, {"a", StoredType::f64, {}, bytes(two)}}),
            path_ + ": tensor 'a' is there twice");
  EXPECT_EQ(refused({{"__metadata__", StoredType::f32, {2}, bytes(two)}}),
            path_ + ": tensor '__metadata__' has a name that the format reserves");
  EXPECT_EQ(refused({{"\xff", StoredType::f32, {2}, bytes(two)}}), path_ + ": '\\xff' is not UTF-8");
  EXPECT_EQ(refused({}, {{"a", "\xff"}}), path_ + ": '\\xff' is not UTF-8");
  EXPECT_EQ(refused({}, {{"a", std::string(100'000'000, 'x')}}),
            path_ + ": the header has 100000032 bytes, must have at most 100000000");
  EXPECT_EQ(directory_.files(), 0u);
}

// Bytes changed, truncated, inserted, or copied from elsewhere: the file is read or refused, nothing else.
TEST_F(SafetensorsFile, DamagedFilesAreReadOrRefused) {
  const std::vector<float> values = test::normal_values(24, 1);
  write_safetensors(path_,
                    std::vector<StoredTensor>{{"0.weight", StoredType::f32, {2, 3, 4}, bytes(values)},
                                              {"0.bias", StoredType::f64, {2}, bytes(values).first(16)},
                                              {"step", StoredType::i64, {}, bytes(values).first(8)},
                                              {"image", StoredType::u8, {0, 28}, {}}},
                    {{"format", "1"}, {"seed", "17"}});
  const std::string whole = test::read_text(path_);
  test::Random random(31);
  const auto anywhere = [&](const std::string& text) {
    // Mostly in the header: damage to the data only changes a number.
    const auto size = static_cast<int64_t>(text.size());
    return static_cast<size_t>(random.below(random.below(8) == 0 ? size : std::min(size, int64_t{360})));
  };
  int read_well = 0, refused = 0;
  for (int round = 0; round < 8'000; ++round) {
    std::string damaged = whole;
    for (int64_t changes = 1 + random.below(3); changes > 0 && !damaged.empty(); --changes) {
      const size_t at = anywhere(damaged);
      switch (random.below(5)) {
        case 0:
          damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
          break;
        case 1:
          damaged[at] = static_cast<char>(random.below(256));
          break;
        case 2:
          damaged[at] = "{}[],:\"0123456789-e."[random.below(20)];
          break;
        case 3:
          damaged.resize(at);
          break;
        case 4:
          damaged.insert(at, damaged.substr(anywhere(damaged), static_cast<size_t>(random.below(40))));
          break;
      }
    }
    try {
      const Safetensors file = read(damaged);
      // All tensors must be inside the data that was read.
      for (const StoredTensor& tensor : file.tensors)
        ASSERT_EQ(bytes_of(tensor.type, tensor.shape), static_cast<int64_t>(text(tensor.bytes).size()));
      ++read_well;
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), StatusCode::bad_argument) << error.what();
      EXPECT_LT(std::strlen(error.what()), path_.size() + 400) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(read_well, 100) << "the damage is too coarse to get past the first check";
  EXPECT_GT(refused, 4'000);
}

}  // namespace
}  // namespace rondo
