#include "kusari/framework/amp/precision_lists.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/amp/casting.h"

namespace kusari {
namespace {

using namespace kusari::testing;

// Names on the lists without a function: they have their place already, or are refused by it.
const std::set<std::string> kComing = {"binary_cross_entropy", "dot"};

// The sources that give functions their names, or their headers alone.
std::string sources(bool headers_alone) {
  std::string text;
  for (const char* folder : {"autograd", "functions", "kernels"}) {
    const std::filesystem::path root = std::filesystem::path(KUSARI_SOURCE_DIR) / "framework" / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file() || (headers_alone && entry.path().extension() != ".h")) continue;
      std::ifstream file(entry.path());
      text.append(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return text;
}

TEST_CASE("amp::PrecisionLists: each name on them is a function's") {
  const std::string text = sources(false), declared = sources(true);
  REQUIRE(declared.size() > 100000);
  const auto is_named = [&](const std::string& name) {
    return text.find('"' + name + '"') != std::string::npos ||
           text.find("\"F::" + name + '"') != std::string::npos;  // names of poolings
  };
  std::set<std::string> listed;
  for (const amp::PrecisionLists* lists : {&amp::autocast_lists(), &amp::tensorflow_lists()}) {
    std::set<std::string> seen;
    for (const auto* names : {&lists->full, &lists->low, &lists->widest, &lists->narrowest, &lists->untouched}) {
      for (const std::string& name : *names) CHECK_MESSAGE(seen.insert(name).second, name << " is on two lists");
    }
    for (const auto& [name, advice] : lists->refused) seen.insert(name);
    listed.merge(seen);
  }
  for (const std::string& name : listed) {
    CAPTURE(name);
    CHECK(is_named(name) != kComing.contains(name));
  }
  for (const std::string& name : kComing) {
    CAPTURE(name);
    CHECK(listed.contains(name));
    CHECK_MESSAGE(declared.find(' ' + name + '(') == std::string::npos, "it has come");
  }
}

using Call = std::function<Variable()>;

void check_dtypes(Dtype expected, const std::vector<std::pair<const char*, Call>>& calls) {
  for (const auto& [name, call] : calls) {
    CAPTURE(name);
    CHECK(call().dtype() == expected);
  }
}

constexpr Dtype kHalf = Dtype::float16;

Array labels(const Shape& shape) { return zeros(shape, Dtype::int32, test_device()); }

TEST_CASE("amp::autocast_lists: products run in 16 bits") {
  const amp::Autocast autocast({.dtype = kHalf});
  const Variable x = constant({2, 4}), image = constant({2, 4, 6, 6}), W = weights({4, 4, 3, 3});
  const Variable b = weights({4}), offset = constant({2, 18, 4, 4});
  check_dtypes(kHalf,
               {
                   {"linear",
                    [&] {
                      return F::linear(x, weights({3, 4}), weights({3}));
                    }},
                   {"linear with axes",
                    [&] {
                      return F::linear(constant({2, 3, 4}), weights({3, 4}), {}, {.n_batch_axes = 2});
                    }},
                   {"matmul",
                    [&] {
                      return F::matmul(x, weights({4, 3}));
                    }},
                   {"matmul of a vector", [&] { return F::matmul(x, weights({4})); }},
                   {"batches of matmul",
                    [&] {
                      return F::matmul(constant({3, 2, 4}), weights({3, 4, 2}));
                    }},
                   {"convolution_1d",
                    [&] {
                      return F::convolution_1d(constant({2, 4, 6}), weights({4, 4, 3}), b);
                    }},
                   {"convolution_2d", [&] { return F::convolution_2d(image, W, b); }},
                   {"convolution_2d with relu", [&] { return F::convolution_2d(image, W, b, {.relu = true}); }},
                   {"convolution_nd", [&] { return F::convolution_nd(image, W, b); }},
                   {"deconvolution_2d", [&] { return F::deconvolution_2d(image, W, b); }},
                   {"dilated_convolution_2d", [&] { return F::dilated_convolution_2d(image, W, b, {.dilate = 2}); }},
                   {"depthwise_convolution_2d",
                    [&] {
                      return F::depthwise_convolution_2d(image, weights({2, 4, 3, 3}), weights({8}));
                    }},
                   {"local_convolution_2d",
                    [&] {
                      return F::local_convolution_2d(image, weights({2, 4, 4, 4, 3, 3}), weights({2, 4, 4}));
                    }},
                   {"deformable_convolution_2d_sampler",
                    [&] { return F::deformable_convolution_2d_sampler(image, offset, W, b); }},
                   {"prelu", [&] { return F::prelu(image, b); }},
                   {"swish of 16 bits",
                    [&] {
                      return F::swish(F::linear(x, weights({4, 4})), b);
                    }},
               });
}

TEST_CASE("amp::autocast_lists: sums, powers, normalizations and losses run in float32") {
  const amp::Autocast autocast({.dtype = kHalf});
  const Variable x = constant({4, 6}, kHalf), y = constant({4, 6}, kHalf, 2), other = constant({4, 6});
  const Variable t = labels({4}), ts = labels({4, 6}), image = constant({2, 4, 3, 3}, kHalf);
  const Array halves = floats({6}, kHalf);
  check_dtypes(
      Dtype::float32,
      {
          {"exp", [&] { return F::exp(x); }},
          {"expm1", [&] { return F::expm1(x); }},
          {"log", [&] { return F::log(x); }},
          {"log10", [&] { return F::log10(x); }},
          {"log1p", [&] { return F::log1p(x); }},
          {"log2", [&] { return F::log2(x); }},
          {"pow", [&] { return F::pow(x, y); }},
          {"pow of a number", [&] { return F::pow(2, x); }},
          {"cube", [&] { return F::pow(x, 3); }},
          {"square", [&] { return F::square(x); }},
          {"reciprocal", [&] { return 1 / x; }},
          {"rsqrt", [&] { return F::rsqrt(x); }},
          {"sinh", [&] { return F::sinh(x); }},
          {"cosh", [&] { return F::cosh(x); }},
          {"tan", [&] { return F::tan(x); }},
          {"arcsin", [&] { return F::arcsin(x); }},
          {"arccos", [&] { return F::arccos(x); }},
          {"softplus", [&] { return F::softplus(x); }},
          {"softmax", [&] { return F::softmax(x); }},
          {"log_softmax", [&] { return F::log_softmax(x); }},
          {"logsumexp", [&] { return F::logsumexp(x); }},
          {"sum", [&] { return F::sum(x); }},
          {"prod", [&] { return F::prod(x); }},
          {"layer_normalization", [&] { return F::layer_normalization(x, weights({6}), weights({6})); }},
          {"group_normalization", [&] { return F::group_normalization(image, 2, weights({4}), weights({4})); }},
          {"normalize", [&] { return F::normalize(x); }},
          {"decorrelated_batch_normalization",
           [&] { return F::decorrelated_batch_normalization(image, {.groups = 2}); }},
          {"fixed_decorrelated_batch_normalization",
           [&] {
             return F::fixed_decorrelated_batch_normalization(image, floats({2, 2}), floats({2, 2, 2}), 2);
           }},
          {"spatial_transformer_grid",
           [&] {
             return F::spatial_transformer_grid(constant({2, 2, 3}, kHalf), {4, 4});
           }},
          {"absolute_error", [&] { return F::absolute_error(x, y); }},
          {"bernoulli_nll", [&] { return F::bernoulli_nll(x, other, F::Reduce::sum); }},
          {"gaussian_kl_divergence", [&] { return F::gaussian_kl_divergence(x, y, F::Reduce::mean); }},
          {"gaussian_nll", [&] { return F::gaussian_nll(x, other, y, F::Reduce::no); }},
          {"cosine_similarity", [&] { return F::cosine_similarity(x, y); }},
          {"logaddexp", [&] { return F::logaddexp(x, y); }},
          {"huber_loss", [&] { return F::huber_loss(x, y, 1.0); }},
          {"mean_absolute_error", [&] { return F::mean_absolute_error(x, other); }},
          {"mean_squared_error", [&] { return F::mean_squared_error(x, other); }},
          {"squared_error", [&] { return F::squared_error(x, y); }},
          {"squared_difference", [&] { return F::squared_difference(x, y); }},
          {"sigmoid_cross_entropy", [&] { return F::sigmoid_cross_entropy(x, ts); }},
          {"softmax_cross_entropy", [&] { return F::softmax_cross_entropy(x, t); }},
          {"softmax_cross_entropy with weights",
           [&] { return F::softmax_cross_entropy(x, t, {.class_weight = halves}); }},
          {"softmax_cross_entropy of distributions", [&] { return F::softmax_cross_entropy(x, other); }},
          {"argmax_crf1d",
           [&] {
             return F::argmax_crf1d(constant({6, 6}), {x}).score;
           }},
          {"binary_hierarchical_softmax",
           [&] {
             const F::TreePaths tree{labels({1, 1}), ones({1, 1}, Dtype::float32, test_device())};
             return F::binary_hierarchical_softmax(x, t, other, tree);
           }},
          {"black_out",
           [&] {
             return F::black_out(x, t, other, labels({4, 2}));
           }},
          {"crf1d",
           [&] {
             return F::crf1d(constant({6, 6}), {x}, {t});
           }},
          {"negative_sampling", [&] { return F::negative_sampling(x, t, other, labels, 2); }},
      });
}

TEST_CASE("amp::autocast_lists: some functions take the widest of their inputs") {
  const amp::Autocast autocast({.dtype = kHalf});
  const Variable x = constant({4, 6}, kHalf), other = constant({4, 6}), image = constant({2, 4, 5, 5}, kHalf);
  const Variable row = constant({1, 6}, kHalf), W = constant({6, 6, 2}, kHalf), V = constant({6, 2}, kHalf),
                 b = constant({2}, kHalf);
  check_dtypes(Dtype::float32, {
                                   {"arctan2", [&] { return F::arctan2(x, other); }},
                                   {"bilinear", [&] { return F::bilinear(x, other, W, V, V, b); }},
                                   {"scatter_add",
                                    [&] {
                                      return F::scatter_add(other, {Slice{0, 1}}, row);
                                    }},
                                   {"spatial_transformer_sampler",
                                    [&] {
                                      return F::spatial_transformer_sampler(image, constant({2, 2, 4, 4}));
                                    }},
                               });
  check_dtypes(kHalf, {
                          {"arctan2", [&] { return F::arctan2(x, x); }},
                          {"normalized_fusion_silu",
                           [&] {
                             const Variable maps[] = {image, image};
                             return F::normalized_fusion_silu(maps, weights({2}));
                           }},
                          {"bilinear", [&] { return F::bilinear(x, x, W, V, V, b); }},
                          {"scatter_add",
                           [&] {
                             return F::scatter_add(x, {Slice{0, 1}}, row);
                           }},
                          {"spatial_transformer_sampler",
                           [&] {
                             return F::spatial_transformer_sampler(image, constant({2, 2, 4, 4}, kHalf));
                           }},
                      });
}

TEST_CASE("amp::tensorflow_lists: infer and clear functions follow their inputs") {
  const amp::Autocast autocast({.dtype = kHalf, .lists = &amp::tensorflow_lists()});
  const Variable wide = constant({4, 6}), x = F::linear(wide, weights({6, 6}), weights({6}));
  const Variable image = F::convolution_2d(constant({2, 3, 6, 6}), weights({4, 3, 3, 3}));
  check_dtypes(kHalf,
               {
                   {"linear", [&] { return x; }},
                   {"bias",
                    [&] {
                      return x + weights({4, 6});
                    }},
                   {"a bias that is broadcast", [&] { return x + weights({6}); }},
                   {"residual", [&] { return wide + x; }},
                   {"softmax", [&] { return F::softmax(x); }},
                   {"log", [&] { return F::log(x); }},
                   {"relu", [&] { return F::relu(x); }},
                   {"tanh", [&] { return F::tanh(x); }},
                   {"max_pooling_2d", [&] { return F::max_pooling_2d(image, 2); }},
                   {"normalized_fusion_silu",
                    [&] {
                      const Variable maps[] = {image, image};
                      return F::normalized_fusion_silu(maps, weights({2}));
                    }},
                   {"batch_normalization", [&] { return F::batch_normalization(image, weights({4}), weights({4})); }},
                   {"batch_normalization_add_relu",
                    [&] {
                      return F::batch_normalization_add_relu(image, constant({2, 4, 4, 4}), weights({4}), weights({4}));
                    }},
                   {"reshape",
                    [&] {
                      return F::reshape(x, {6, 4});
                    }},
                   {"dropout", [&] { return F::dropout(x); }},
               });
  check_dtypes(Dtype::float32, {
                                   {"a sum of float32", [&] { return wide + wide; }},
                                   {"exp", [&] { return F::exp(x); }},
                                   {"sum", [&] { return F::sum(x); }},
                                   {"mean", [&] { return F::mean(x); }},
                                   {"softmax_cross_entropy", [&] { return F::softmax_cross_entropy(x, labels({4})); }},
                                   {"concat",
                                    [&] {
                                      return F::concat({x, wide}, 1);
                                    }},
                                   {"square, which is on no list", [&] { return F::square(x); }},
                                   {"mean_squared_error", [&] { return F::mean_squared_error(x, wide); }},
                               });
}

}  // namespace
}  // namespace kusari
