// The lesson's LeNet, forward and backward, against plain loops in double precision.

#include <gtest/gtest.h>

#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/lenet_replica.h>
#include <rondo/tests/nn/models/small_data.h>

#include <cmath>

namespace rondo::lenet {
namespace {

using Values = std::vector<double>;

// Computes one image at a time. Activations are [row][column][channel], as in the kernels.
struct Reference {
  explicit Reference(const std::vector<float>& arena) : w(arena.begin(), arena.end()), g(arena.size(), 0.0) {
    // Computes the views' offsets by placing them in a dummy arena.
    static float origin[1 << 18];
    const Parameters p = parameters_in(origin);
    const auto at = [&](const float* data) { return static_cast<size_t>(data - origin); };
    w1 = at(p.w1.data), b1 = at(p.b1.data), w2 = at(p.w2.data), b2 = at(p.b2.data);
    w3 = at(p.w3.data), b3 = at(p.b3.data), w4 = at(p.w4.data), b4 = at(p.b4.data);
  }

  static Values convolve(const Values& x, size_t side, size_t channels, const double* filter,
                         const double* bias, size_t size, size_t filters) {
    const size_t out = side - size + 1;
    Values y(out * out * filters);
    for (size_t p = 0; p < out; ++p)
      for (size_t q = 0; q < out; ++q)
        for (size_t k = 0; k < filters; ++k) {
          double sum = bias[k];
          for (size_t r = 0; r < size; ++r)
            for (size_t s = 0; s < size; ++s)
              for (size_t c = 0; c < channels; ++c)
                sum += x[((p + r) * side + q + s) * channels + c] *
                       filter[((k * size + r) * size + s) * channels + c];
          y[(p * out + q) * filters + k] = std::max(sum, 0.0);
        }
    return y;
  }

  // Masks dy by the ReLU, adds to the gradients of filter and bias, and returns dx.
  static Values convolve_back(const Values& x, const Values& y, Values dy, size_t side, size_t channels,
                              const double* filter, double* dfilter, double* dbias, size_t size,
                              size_t filters) {
    const size_t out = side - size + 1;
    Values dx(x.size(), 0.0);
    for (size_t p = 0; p < out; ++p)
      for (size_t q = 0; q < out; ++q)
        for (size_t k = 0; k < filters; ++k) {
          const size_t o = (p * out + q) * filters + k;
          const double d = y[o] > 0 ? dy[o] : 0;
          dbias[k] += d;
          for (size_t r = 0; r < size; ++r)
            for (size_t s = 0; s < size; ++s)
              for (size_t c = 0; c < channels; ++c) {
                const size_t in = ((p + r) * side + q + s) * channels + c;
                const size_t f = ((k * size + r) * size + s) * channels + c;
                dfilter[f] += d * x[in];
                dx[in] += d * filter[f];
              }
        }
    return dx;
  }

  static Values average(const Values& x, size_t side, size_t channels) {
    const size_t out = side / 2;
    Values y(out * out * channels, 0.0);
    for (size_t p = 0; p < 2 * out; ++p)
      for (size_t q = 0; q < 2 * out; ++q)
        for (size_t c = 0; c < channels; ++c)
          y[((p / 2) * out + q / 2) * channels + c] += x[(p * side + q) * channels + c] / 4;
    return y;
  }
  static Values average_back(const Values& dy, size_t side, size_t channels) {
    const size_t out = side / 2;
    Values dx(side * side * channels, 0.0);
    for (size_t p = 0; p < 2 * out; ++p)
      for (size_t q = 0; q < 2 * out; ++q)
        for (size_t c = 0; c < channels; ++c)
          dx[(p * side + q) * channels + c] = dy[((p / 2) * out + q / 2) * channels + c] / 4;
    return dx;
  }

  static Values linear(const Values& x, const double* weight, const double* bias, size_t outputs) {
    Values y(bias, bias + outputs);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < outputs; ++j) y[j] += x[i] * weight[i * outputs + j];
    return y;
  }
  static Values linear_back(const Values& x, const Values& dy, const double* weight, double* dweight,
                            double* dbias) {
    Values dx(x.size(), 0.0);
    for (size_t j = 0; j < dy.size(); ++j) dbias[j] += dy[j];
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < dy.size(); ++j) {
        dweight[i * dy.size() + j] += x[i] * dy[j];
        dx[i] += dy[j] * weight[i * dy.size() + j];
      }
    return dx;
  }

  // Adds one image's loss and gradients.
  void add(const uint8_t* image, uint8_t label) {
    Values x(784);
    for (size_t i = 0; i < 784; ++i) x[i] = image[i] / 255.0;
    const Values h1 = convolve(x, 28, 1, &w[w1], &w[b1], 3, 20), p1 = average(h1, 26, 20);
    const Values h2 = convolve(p1, 13, 20, &w[w2], &w[b2], 5, 50), p2 = average(h2, 9, 50);
    Values h3 = linear(p2, &w[w3], &w[b3], 128);
    for (double& value : h3) value = std::max(value, 0.0);
    const Values logits = linear(h3, &w[w4], &w[b4], 10);
    double sum = 0;
    for (double logit : logits) sum += std::exp(logit);
    loss += std::log(sum) - logits[label];

    Values d(10);
    for (size_t j = 0; j < 10; ++j) d[j] = std::exp(logits[j]) / sum - (j == label ? 1 : 0);
    Values d3 = linear_back(h3, d, &w[w4], &g[w4], &g[b4]);
    for (size_t i = 0; i < d3.size(); ++i) d3[i] = h3[i] > 0 ? d3[i] : 0;
    const Values dp2 = linear_back(p2, d3, &w[w3], &g[w3], &g[b3]);
    const Values dp1 = convolve_back(p1, h2, average_back(dp2, 9, 50), 13, 20, &w[w2], &g[w2], &g[b2], 5, 50);
    convolve_back(x, h1, average_back(dp1, 26, 20), 28, 1, &w[w1], &g[w1], &g[b1], 3, 20);
  }

  Values w, g;
  size_t w1, b1, w2, b2, w3, b3, w4, b4;
  double loss = 0;
};

// Trains one step from known parameters. Returns the gradient and the parameters after the step.
struct OneStep : Observer {
  double loss = 0;  // summed over the batch
  std::vector<float> gradients;
  void after_step(int64_t, int64_t, std::span<const Replica> replicas) override {
    RONDO_CUDA_THROW(cudaStreamSynchronize(replicas[0].stream));
    loss = replicas[0].loss_stats.download()[0].loss;
    gradients = replicas[0].gradient_arena.download();
  }
};

TEST(LeNetGradient, AgreesWithPlainLoopsInDouble) {
  const FashionMnist data = test::small_data(12, 4);
  Options options;
  options.devices = {0};
  options.batch_size = 12;
  options.epochs = 1;
  options.lr = 1e-3f;
  OneStep observer;
  const Result result = train(data, options, observer);

  // The update is p -= lr / 12 * g. Undoing it in double gives the initial parameters up to rounding.
  std::vector<float> start(result.parameters.size());
  for (size_t i = 0; i < start.size(); ++i)
    start[i] = static_cast<float>(result.parameters[i] + 1e-3 / 12 * observer.gradients[i]);
  Reference reference(start);
  for (size_t i = 0; i < 12; ++i) reference.add(&data.train_images[784 * i], data.train_labels[i]);

  EXPECT_NEAR(observer.loss, reference.loss, 1e-6 * reference.loss);
  // Compared per tensor, because their magnitudes differ by orders of magnitude.
  const size_t ends[] = {reference.b1, reference.w2, reference.b2, reference.w3,
                         reference.b3, reference.w4, reference.b4, reference.g.size()};
  const char* names[] = {"w1", "b1", "w2", "b2", "w3", "b3", "w4", "b4"};
  size_t i = 0;
  for (size_t tensor = 0; tensor < 8; ++tensor) {
    double error = 0, size = 0;
    for (; i < ends[tensor]; ++i) {
      error += std::pow(observer.gradients[i] - reference.g[i], 2);
      size += std::pow(reference.g[i], 2);
    }
    EXPECT_GT(size, 0) << names[tensor];
    EXPECT_LE(std::sqrt(error), 1e-5 * std::sqrt(size)) << names[tensor];
  }
}

// Checks the reference itself against central differences.
TEST(LeNetGradient, TheReferenceAgreesWithFiniteDifferences) {
  const FashionMnist data = test::small_data(2, 1);
  Options options;
  options.devices = {0};
  options.batch_size = 2;
  options.epochs = 1;
  Observer observer;
  std::vector<float> start = train(data, options, observer).parameters;
  for (float& value : start) value *= 10;  // away from the flat initial point with tiny gradients
  const auto run = [&](size_t index, double change) {
    Reference reference(start);
    reference.w[index] += change;
    for (size_t i = 0; i < 2; ++i) reference.add(&data.train_images[784 * i], data.train_labels[i]);
    return reference;
  };
  const Reference at = run(0, 0);
  for (size_t index :
       {at.w1 + 7, at.b1 + 3, at.w2 + 1234, at.b2 + 11, at.w3 + 40321, at.b3 + 5, at.w4 + 77, at.b4 + 2}) {
    const double step = 1e-6;
    const double slope = (run(index, step).loss - run(index, -step).loss) / (2 * step);
    EXPECT_NEAR(at.g[index], slope, 1e-5 * std::max(1.0, std::abs(slope))) << "parameter " << index;
  }
}

}  // namespace
}  // namespace rondo::lenet
