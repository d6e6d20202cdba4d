// logits MODEL WEIGHTS IMAGES OUT: writes the outputs of a network, with the parameters of a file, for the
// images of another: both raw float32, images in NHWC. For state_dict_torch_test.py.
#include <rondo/nn/checkpoint/state_dict.h>
#include <rondo/nn/models/models.h>

#include <fstream>
#include <iostream>
#include <iterator>

int main(int argc, char** argv) {
  using namespace rondo;
  if (argc != 5) return 2;
  try {
    const nn::NamedModel network = nn::model(argv[1]);
    nn::DataParallel model(network.network, network.input, {.devices = {0, 1}, .batch = 8});
    nn::load_weights(argv[2], model);
    std::ifstream in(argv[3], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const auto* images = reinterpret_cast<const float*>(bytes.data());
    const std::vector<float> logits = model.predict({images, bytes.size() / sizeof(float)});
    std::ofstream out(argv[4], std::ios::binary);
    out.write(reinterpret_cast<const char*>(logits.data()),
              static_cast<std::streamsize>(logits.size() * sizeof(float)));
    return out.flush() ? 0 : 1;
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
