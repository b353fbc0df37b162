#include "kusari/framework/links/model_summary.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/attention/scaled_dot_product_attention.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/model/resnet.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/rnn/lstm.h"
#include "kusari/framework/links/rnn/n_step_lstm.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/tests/links/models.h"

namespace kusari::testing {
namespace {

using Row = ModelSummary::Row;

std::vector<std::string> names(const ModelSummary& summary) {
  std::vector<std::string> found;
  for (const Row& row : summary.rows) found.push_back(std::string(static_cast<size_t>(row.depth), '.') + row.name);
  return found;
}

class Net : public Chain {
 public:
  Net()
      : unused{*this, "unused", 7, 1},
        conv{*this, "conv", kInfer, 4, 3},
        bn{*this, "bn", 4},
        fc{*this, "fc", kInfer, 5} {}
  Variable operator()(const Variable& x) {
    const LinkCall call(*this);
    Variable h = F::relu(bn(conv(x)));
    h = F::relu(bn(h));
    return fc(h);
  }

  Child<L::Linear> unused;
  Child<L::Convolution2D> conv;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> fc;
};

TEST_CASE("summary tells links and functions in the order of their calls") {
  Net net;
  const Variable x(ones({2, 3, 6, 6}));
  const ModelSummary result = summary(net, {x});
  CHECK(names(result) ==
        std::vector<std::string>{"Net", ".Convolution2D", ".BatchNormalization", ".F::relu", ".Linear", ".Linear"});

  const Row &model = result.rows[0], &conv = result.rows[1], &bn = result.rows[2], &relu = result.rows[3],
            &fc = result.rows[4], &unused = result.rows[5];
  CHECK(model.outputs == std::vector<Shape>{{2, 5}});
  CHECK(conv.path == "/conv");
  CHECK(conv.outputs == std::vector<Shape>{{2, 4, 4, 4}});
  CHECK(conv.parameters == 4 * 3 * 9 + 4);
  CHECK(conv.operations == 2 * 4 * 16 * 3 * 9);
  CHECK(bn.calls == 2);
  CHECK(bn.parameters == 8);
  CHECK(relu.is_function);
  CHECK(relu.path == "");
  CHECK(relu.calls == 2);
  CHECK(fc.parameters == 64 * 5 + 5);
  CHECK(fc.operations == 2 * 64 * 5);
  CHECK(unused.path == "/unused");
  CHECK(unused.calls == 0);
  CHECK(unused.parameters == 8);
  CHECK(result.parameters == 112 + 8 + 325 + 8);
  CHECK(result.parameter_bytes == 4 * result.parameters);
  CHECK(result.operations == conv.operations + fc.operations);

  const std::string text = result.text();
  CHECK(text.find("  conv: Convolution2D     (2, 4, 4, 4)         112          3,456      1\n") != std::string::npos);
  CHECK(text.find("  unused: Linear          -                      8                      \n") != std::string::npos);
  CHECK(text.find("453 parameters (0.00 MiB), 4,096 multiply-adds, results of 0.0") != std::string::npos);
}

TEST_CASE("summary leaves the model as it was") {
  Net net;
  const Variable x(ones({2, 3, 6, 6}));
  net(x);
  const Array mean = net.bn.avg_mean.copy();
  summary(net, {x});
  CHECK(net.bn.avg_mean.to_vector<float>() == mean.to_vector<float>());
  CHECK(config().train);
  CHECK(config().enable_backprop);

  L::LSTM lstm(3, 2);
  lstm(Variable(ones({2, 3})));
  const std::vector<float> h = lstm.h.to_vector<float>();
  summary(lstm, {Variable(zeros({2, 3}))});
  CHECK(lstm.h.to_vector<float>() == h);
}

TEST_CASE("summary of links without a LinkCall of their own") {
  TwoLayers model(4, 3);
  const ModelSummary result = summary(model, {Variable(ones({5, 4}))});
  CHECK(names(result) == std::vector<std::string>{"TwoLayers", ".Linear", ".Linear"});
  CHECK(result.rows[0].outputs == std::vector<Shape>{{5, 2}});
  CHECK(result.rows[0].calls == 1);
  CHECK(result.operations == 5 * (4 * 3 + 3 * 2));

  L::Classifier<TwoLayers> classifier{TwoLayers(4, 3)};
  const ModelSummary with_loss = summary(classifier, {Variable(ones({5, 4})), Variable(zeros({5}, Dtype::int32))});
  CHECK(with_loss.rows[1].path == "/predictor");
  CHECK(with_loss.rows[1].calls == 0);
  CHECK(with_loss.rows[2].path == "/predictor/l1");
  CHECK(with_loss.rows[2].depth == 2);
  CHECK(with_loss.operations == result.operations);
}

TEST_CASE("summary counts the products of each kind") {
  const auto operations = [](auto link, const Shape& shape) {
    return summary(link, {Variable(ones(shape))}).operations;
  };
  CHECK(operations(L::Convolution2D(4, 6, 3, {.pad = 1, .groups = 2}), {2, 4, 5, 5}) == 2 * 6 * 25 * 2 * 9);
  CHECK(operations(L::Deconvolution2D(4, 6, 3, {.stride = 2}), {2, 4, 5, 5}) == 2 * 4 * 25 * 6 * 9);
  CHECK(operations(L::Deconvolution2D(0, 2, 3), {1, 0, 4, 4}) == 0);
  CHECK(operations(L::Linear(8, 3, {.nobias = true}), {7, 8}) == 7 * 8 * 3);
  CHECK(operations(L::LSTM(3, 2), {4, 3}) == 4 * (3 * 8 + 0));  // no product with a state that there is not

  class Attention : public Chain {
   public:
    Variable operator()(const Variable& q) { return F::scaled_dot_product_attention(q, q, q); }
  };
  CHECK(operations(Attention(), {2, 3, 5, 4}) == 2 * (2 * 3 * 5 * 5 * 4));
  class Products : public Chain {
   public:
    Variable operator()(const Variable& a) { return F::matmul(a, a, {.transa = true}); }
  };
  CHECK(operations(Products(), {2, 5, 3}) == 2 * 3 * 3 * 5);
}

TEST_CASE("summary of ResNet-50 has the numbers that are known of it") {
  L::ResNet50 model;
  const ModelSummary result = summary(model, {Variable(zeros({1, 3, 224, 224}))});
  CHECK(result.parameters == 25'557'032);
  CHECK(result.operations == 4'089'184'256);
}

TEST_CASE("summary gives the model's own error, and leaves no hook behind") {
  TwoLayers model(4, 3);
  CHECK_THROWS_AS(summary(model, {Variable(ones({5, 6}))}), TypeError);
  CHECK_THROWS_AS(summary(model, {}), TypeError);
  CHECK(detail::t_link_hooks == nullptr);
  CHECK(config().train);
}

}  // namespace
}  // namespace kusari::testing
