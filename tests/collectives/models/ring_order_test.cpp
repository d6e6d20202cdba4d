// ring_order() compared with all orders where these can be enumerated, and with rings hidden in the matrix
// for more ranks.
#include <gtest/gtest.h>

#include <rondo/collectives/models/ring_order.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>

namespace rondo {
namespace {

class Matrix {
 public:
  explicit Matrix(int ranks, double everywhere = 0)
      : n_(static_cast<size_t>(ranks)), values_(n_ * n_, everywhere) {
    for (size_t i = 0; i < n_; ++i) values_[i * n_ + i] = std::nan("");  // the diagonal must not be read
  }
  double& at(int from, int to) { return values_[static_cast<size_t>(from) * n_ + static_cast<size_t>(to)]; }
  const std::vector<double>& values() const { return values_; }
  int ranks() const { return static_cast<int>(n_); }

  // Each link has its own value, or the same value in both directions.
  template <class Value>
  static Matrix of(int ranks, bool symmetric, const Value& value) {
    Matrix matrix(ranks);
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to) {
        if (from == to) continue;
        matrix.at(from, to) = symmetric && to < from ? matrix.at(to, from) : value();
      }
    return matrix;
  }

 private:
  size_t n_;
  std::vector<double> values_;
};

std::vector<int> order_of(const Matrix& matrix) {
  std::vector<int> order;
  const Status status = ring_order(matrix.ranks(), matrix.values(), order);
  EXPECT_TRUE(status.ok()) << status.message();
  return order;
}

double sum_of(Matrix matrix, const std::vector<int>& order) {
  double sum = 0;
  for (size_t i = 0; i < order.size(); ++i) sum += matrix.at(order[i], order[(i + 1) % order.size()]);
  return sum;
}

std::vector<int> in_turn(int ranks) {
  std::vector<int> order(static_cast<size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// All (n-1)! rings that start with rank 0, in lexicographic order; whole numbers, so that sums are exact.
std::vector<int> by_trying_all(const Matrix& matrix) {
  std::vector<int> order = in_turn(matrix.ranks()), best = order;
  do {
    const auto key = [&](const std::vector<int>& o) {
      return std::tuple(slowest_link(o, matrix.values()), sum_of(matrix, o));
    };
    if (key(order) > key(best)) best = order;
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return best;
}

TEST(RingOrder, IsTheBestOfAll) {
  std::mt19937 random(1);
  for (int ranks = 2; ranks <= 7; ++ranks)
    for (const bool symmetric : {false, true})
      for (const int different : {2, 3, 10, 1000})  // few different values: many ties
        for (int repeat = 0; repeat < 10; ++repeat) {
          const Matrix matrix = Matrix::of(ranks, symmetric, [&] { return double(random() % different); });
          ASSERT_EQ(order_of(matrix), by_trying_all(matrix)) << ranks << " ranks, " << different << " values";
        }
}

TEST(RingOrder, RanksInTurnWhereAllLinksAreEqual) {
  for (const int ranks : {1, 2, 3, 8, 13, 14, 15, 16, 33, 64})
    ASSERT_EQ(order_of(Matrix(ranks, 25e9)), in_turn(ranks));
}

// A ring through all ranks in random order, at 100 and more; all other links are below 50.
Matrix with_hidden_ring(int ranks, std::mt19937& random, std::vector<int>& hidden, double decoys) {
  std::uniform_real_distribution<double> slow(10, 50), fast(100, 120), chance(0, 1);
  Matrix matrix =
      Matrix::of(ranks, false, [&] { return chance(random) < decoys ? fast(random) : slow(random); });
  hidden = in_turn(ranks);
  std::shuffle(hidden.begin() + 1, hidden.end(), random);
  for (size_t i = 0; i < hidden.size(); ++i)
    matrix.at(hidden[i], hidden[(i + 1) % hidden.size()]) = fast(random);
  return matrix;
}

TEST(RingOrder, FindsAHiddenRing) {
  std::mt19937 random(2);
  for (const int ranks : {9, 14, 15, 16, 24, 64}) {
    std::vector<int> hidden;
    const Matrix matrix = with_hidden_ring(ranks, random, hidden, 0);
    EXPECT_EQ(order_of(matrix), hidden);
  }
}

// Misleading fast links: a fifth of the other links are as fast as those of the hidden ring.
TEST(RingOrder, IsNotLedAstrayByFastLinksElsewhere) {
  std::mt19937 random(3);
  for (const int ranks : {14, 16, 24, 64})
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::vector<int> hidden;
      const Matrix matrix = with_hidden_ring(ranks, random, hidden, 0.2);
      EXPECT_GE(slowest_link(order_of(matrix), matrix.values()), 100) << ranks << " ranks, " << repeat;
    }
}

// Pairs with fast links and shuffled ranks: the ring uses all of these links.
TEST(RingOrder, KeepsPairsTogether) {
  std::mt19937 random(4);
  for (const int ranks : {8, 32}) {
    Matrix matrix(ranks, 12);
    std::vector<int> shuffled = in_turn(ranks);
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (size_t i = 0; i < shuffled.size(); i += 2)
      matrix.at(shuffled[i], shuffled[i + 1]) = matrix.at(shuffled[i + 1], shuffled[i]) = 100;
    const std::vector<int> order = order_of(matrix);
    EXPECT_EQ(slowest_link(order, matrix.values()), 12);
    EXPECT_EQ(sum_of(matrix, order), ranks / 2 * (100 + 12));
  }
}

TEST(RingOrder, FastIslandsAreVisitedOnceEach) {
  Matrix matrix(32, 5);
  for (int from = 0; from < 32; ++from)
    for (int to = 0; to < 32; ++to)
      if (from != to && from % 4 == to % 4) matrix.at(from, to) = 300;
  EXPECT_EQ(sum_of(matrix, order_of(matrix)), 4 * (7 * 300 + 5));
}

TEST(RingOrder, HoldsEveryRankOnce) {
  std::mt19937 random(5);
  for (const int ranks : {1, 2, 3, 13, 14, 15, 40, 64}) {
    const Matrix matrix = Matrix::of(ranks, false, [&] { return double(random() % 1000); });
    std::vector<int> order = order_of(matrix);
    EXPECT_EQ(order.at(0), 0);
    EXPECT_EQ(order, order_of(matrix)) << "the same input, another order";
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, in_turn(ranks));
  }
}

TEST(RingOrder, SlowestLinkGoesOnceAround) {
  Matrix matrix(3, 9);
  matrix.at(2, 0) = 4;
  matrix.at(0, 2) = 1;  // opposite to the ring's direction
  const std::vector<int> order = {0, 1, 2};
  EXPECT_EQ(slowest_link(order, matrix.values()), 4);
  EXPECT_TRUE(std::isinf(slowest_link(std::vector<int>{0}, Matrix(1).values())));
}

TEST(RingOrder, BadMatrices) {
  std::vector<int> order = {7};
  const auto error_of = [&](int ranks, const std::vector<double>& bandwidth) {
    const Status status = ring_order(ranks, bandwidth, order);
    EXPECT_EQ(status.code(), StatusCode::bad_argument);
    return status.message();
  };
  EXPECT_EQ(error_of(0, {}), "ring_order: ranks is 0, must be from 1 to 64");
  EXPECT_EQ(error_of(65, {}), "ring_order: ranks is 65, must be from 1 to 64");
  EXPECT_EQ(error_of(2, {1, 2, 3}),
            "ring_order: bandwidth has 3 entries, must be 4, one for each pair of 2 ranks");
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 2e15}) {
    Matrix matrix(3, 1);
    matrix.at(2, 1) = bad;
    EXPECT_EQ(error_of(3, matrix.values()).rfind("ring_order: bandwidth from rank 2 to rank 1 is ", 0), 0u);
  }
  EXPECT_EQ(order, std::vector<int>{7}) << "a bad argument has no effect";
}

}  // namespace
}  // namespace rondo
