#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace {

using NGram = std::vector<int64_t>;

std::vector<int64_t> required(const NodeReader& node, const char* name) {
  const auto numbers = node.integers(name);
  if (!numbers) throw ValueError(std::string("it lacks the attribute ") + name);
  return *numbers;
}

/// The n-grams of a pool of integers, the shorter ones first, each with its place.
std::map<NGram, size_t> pooled(const NodeReader& node) {
  if (node.has("pool_strings")) throw ValueError("strings (pool_strings) are not supported");
  const std::vector<int64_t> pool = required(node, "pool_int64s"), starts = required(node, "ngram_counts");
  std::map<NGram, size_t> places;
  for (size_t n = 1; n <= starts.size(); ++n) {
    const int64_t begin = starts[n - 1], end = n < starts.size() ? starts[n] : static_cast<int64_t>(pool.size());
    if (begin < 0 || begin > end || end > static_cast<int64_t>(pool.size()) ||
        (end - begin) % static_cast<int64_t>(n) != 0) {
      throw ValueError("its attribute ngram_counts does not divide the " + std::to_string(pool.size()) +
                       " numbers of pool_int64s into n-grams");
    }
    for (auto at = pool.begin() + begin; at < pool.begin() + end; at += static_cast<std::ptrdiff_t>(n)) {
      places.emplace(NGram(at, at + static_cast<std::ptrdiff_t>(n)), places.size());
    }
  }
  return places;
}

/// How often each n-gram of the pool comes in a row, with skips between its elements, on the host.
Operation tf_idf_vectorizer(const NodeReader& node) {
  const std::string mode = node.text("mode", "TF");
  expect_one_of("mode", mode, {"TF", "IDF", "TFIDF"});
  const int64_t least = node.integer("min_gram_length"), most = node.integer("max_gram_length"),
                skips = node.integer("max_skip_count");
  if (least < 1 || most < least || skips < 0) {
    throw ValueError("min_gram_length, max_gram_length and max_skip_count are " + std::to_string(least) + ", " +
                     std::to_string(most) + " and " + std::to_string(skips));
  }
  const std::map<NGram, size_t> places = pooled(node);
  const std::vector<int64_t> columns = required(node, "ngram_indexes");
  const std::vector<double> weights = node.reals("weights").value_or(std::vector<double>(columns.size(), 1));
  if (columns.empty() || columns.size() != places.size() || weights.size() != columns.size() ||
      *std::min_element(columns.begin(), columns.end()) < 0) {
    throw ValueError("ngram_indexes and weights must have a number for each of the " + std::to_string(places.size()) +
                     " n-grams");
  }
  const int64_t width = *std::max_element(columns.begin(), columns.end()) + 1;
  return [=](const Call& call) -> Values {
    if (call.ndim(0) > 2)
      throw TypeError("X has shape " + kusari::to_string(call.shape(0)) + ": it must have 1 or 2 axes");
    const std::vector<int64_t> x = call.integers(0);
    const bool has_rows = call.ndim(0) == 2;
    const int64_t rows = has_rows ? call.shape(0)[0] : 1, length = rows > 0 ? static_cast<int64_t>(x.size()) / rows : 0;
    const Shape shape = has_rows ? Shape{rows, width} : Shape{width};
    expect_size(shape);
    std::vector<float> y(static_cast<size_t>(rows * width));
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t* const first = x.data() + row * length;
      const auto count = [&](int64_t n, int64_t distance) {
        for (int64_t begin = 0; begin + (n - 1) * distance < length; ++begin) {
          NGram gram;
          for (int64_t k = 0; k < n; ++k) gram.push_back(first[begin + k * distance]);
          const auto found = places.find(gram);
          if (found == places.end()) continue;
          float& number = y[static_cast<size_t>(row * width + columns[found->second])];
          const float weight = static_cast<float>(weights[found->second]);
          number = mode == "TF" ? number + 1 : mode == "IDF" ? weight : number + weight;
        }
      };
      for (int64_t n = least; n <= most && n <= length; ++n) {
        // Single elements have nothing between them; farther than the row there is none.
        for (int64_t skip = 0; skip <= (n > 1 ? std::min(skips, length) : 0); ++skip) count(n, skip + 1);
      }
    }
    return {Variable(from_host(y.data(), shape, Dtype::float32, call.device()), false)};
  };
}

}  // namespace

std::span<const Operator> vectorizer_operators() {
  static constexpr Operator kOperators[] = {{"TfIdfVectorizer", tf_idf_vectorizer}};
  return kOperators;
}

}  // namespace kusari::onnx
