#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/attention/scaled_dot_product_attention.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/attention/generate.h"
#include "kusari/framework/links/attention/kv_cache.h"
#include "kusari/framework/links/attention/multi_head_attention.h"
#include "kusari/framework/links/attention/transformer_block.h"
#include "kusari/framework/links/attention/transformer_decoder_block.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/link_hooks/weight_standardization.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari::transformer_test {
namespace {

Variable drawn(const Shape& shape, int seed = 1) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i) + seed));
  return Variable(array(values, shape));
}
void check_equal(const Variable& got, const Variable& expected) {
  REQUIRE(got.shape() == expected.shape());
  const auto a = got.to_vector<float>(), b = expected.to_vector<float>();
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
}

/// Words, blocks, and the scores of the next words.
class Lm : public Chain {
 public:
  explicit Lm(const L::TransformerBlockOptions& options) : embed{*this, "embed", 11, 8} {
    for (int i = 0; i < 2; ++i) blocks.append(L::TransformerBlock(8, 4, options));
  }
  Variable operator()(const Variable& ids, KVCache* cache = nullptr) const {
    Variable x = embed(ids);
    for (size_t i = 0; i < blocks.size(); ++i)
      x = blocks[i](x, {.cache = cache == nullptr ? nullptr : &cache->layer(i)});
    return functions::linear(x, embed.W, Variable(), {.n_batch_axes = 2});
  }
  Child<L::EmbedID> embed;
  Child<ChainList<L::TransformerBlock>> blocks{*this, "blocks"};
};

const L::TransformerBlockOptions kForms[] = {
    {.is_causal = true},
    {.is_causal = true, .pre_norm = false, .mlp = L::BlockMlp::relu},
    {.is_causal = true,
     .mlp_width = 12,
     .mlp = L::BlockMlp::gated_silu,
     .norm = L::BlockNorm::rms,
     .groups = 2,
     .nobias = true,
     .rotary_base = 10000},
    {.is_causal = true,
     .mlp = L::BlockMlp::silu,
     .norm = L::BlockNorm::rms,
     .groups = 2,
     .head_width = 6,
     .nobias = true,
     .qkv_bias = true,
     .head_norm = true,
     .rotary_base = 100,
     .rotary_scaling = {.factor = 8, .trained = 6}},
    {.is_causal = true, .window = 3, .groups = 2, .rotary_base = 10000},
};

Array words(const std::vector<int32_t>& ids) { return array(ids, {1, static_cast<int64_t>(ids.size())}); }

}  // namespace

TEST_CASE("MultiHeadAttention: attention of each head between two products") {
  const L::MultiHeadAttention mha(6, 3, {.is_causal = true});
  const Variable x = drawn({2, 4, 6});
  const Variable qkv = functions::linear(x, mha.qkv.W, mha.qkv.b, {.n_batch_axes = 2});
  const auto heads = [&](int64_t part) {
    const Variable own(qkv.array().slice(2, 6 * part, 6).contiguous());
    return functions::transpose(Variable(own.array().reshape({2, 4, 3, 2})), {0, 2, 1, 3});
  };
  const Variable y = functions::scaled_dot_product_attention(heads(0), heads(1), heads(2), {.is_causal = true});
  const Variable joined(functions::transpose(y, {0, 2, 1, 3}).array().contiguous().reshape({2, 4, 6}));
  check_equal(mha(x), functions::linear(joined, mha.out.W, mha.out.b, {.n_batch_axes = 2}));
  // Attention to a memory that is x itself sees everything.
  const L::MultiHeadAttention open(6, 3);
  check_equal(open(x, x), open(x));
  CHECK(open(x, drawn({2, 7, 6})).shape() == Shape{2, 4, 6});
}

TEST_CASE("attention links with a window: those of a mask, to themselves alone") {
  L::MultiHeadAttention all(6, 3, {.is_causal = true});
  L::MultiHeadAttention near(6, 3, {.is_causal = true, .window = 2});
  const Variable x = drawn({2, 5, 6}), memory = drawn({2, 7, 6}, 3);
  near.copyparams(all);
  std::vector<uint8_t> band;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) band.push_back(i - 2 < j && j <= i ? 1 : 0);
  }
  const Array mask = array(band, {5, 5}).astype(Dtype::bool_);
  check_equal(near(x), all(x, {.mask = mask}));
  check_equal(near(x, memory), all(x, memory));
  L::TransformerDecoderBlock decoder(6, 3), near_decoder(6, 3, {.window = 2});
  near_decoder.copyparams(decoder);
  check_equal(near_decoder(x, memory), decoder(x, memory, {.mask = mask}));
  CHECK_THROWS_WITH_AS(L::MultiHeadAttention(6, 3, {.is_causal = true, .window = 0}),
                       "L::MultiHeadAttention: window is 0: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(L::TransformerBlock(6, 3, {.window = 4}),
                       "L::MultiHeadAttention: window is 4: it must come with is_causal", ValueError);
}

TEST_CASE("MultiHeadAttention adds a bias to its scores, which learns") {
  const L::MultiHeadAttention mha(6, 3);
  const Variable x = drawn({2, 4, 6}), bias = drawn({1, 3, 4, 4}, 5);
  check_equal(mha(x, {.bias = bias}), mha(x, {.mask = bias.array()}));
  check_equal(mha(x, x, {.bias = bias}), mha(x, {.mask = bias.array()}));
  const Variable y = mha(x, {.bias = bias});
  functions::sum(y * y).backward();
  REQUIRE(bias.grad().is_defined());
  // Softmax does not see what all of a query's scores get.
  for (const float sum : functions::sum(Variable(bias.grad()), Axes{3}).to_vector<float>()) {
    CHECK(std::abs(sum) < 1e-5);
  }
  CHECK(functions::sum(Variable(bias.grad() * bias.grad())).item<float>() > 1e-6);
  const L::TransformerDecoderBlock decoder(6, 3);
  const Variable memory = drawn({2, 5, 6}, 2);
  check_equal(decoder(x, memory, {.bias = bias}), decoder(x, memory, {.mask = bias.array()}));
}

TEST_CASE("transformer blocks give the same with a cache, place by place") {
  const auto mode = no_backprop_mode();
  for (const L::TransformerBlockOptions& options : kForms) {
    const Lm model(options);
    const std::vector<int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6};
    const Variable whole = model(Variable(words(ids), false));
    KVCache cache(2, 8);
    check_equal(model(Variable(words({3, 1, 4}), false), &cache), Variable(whole.array().slice(1, 0, 3).copy()));
    for (size_t t = 3; t < ids.size(); ++t) {
      check_equal(model(Variable(words({ids[t]}), false), &cache),
                  Variable(whole.array().slice(1, static_cast<int64_t>(t), 1).copy()));
    }
    CHECK(cache.length() == 8);
    CHECK_THROWS_WITH_AS(model(Variable(words({1}), false), &cache),
                         doctest::Contains("there are 8 places in the cache of 8: no room for 1 more"), StateError);
    CHECK(cache.length() == 8);
    cache.truncate(2);
    check_equal(model(Variable(words({4}), false), &cache), Variable(whole.array().slice(1, 2, 1).copy()));
    CHECK_THROWS_AS(cache.truncate(9), ValueError);
  }
}

TEST_CASE("MultiHeadAttention: heads of any width, normalized, with biases of one product") {
  const auto names = [](L::MultiHeadAttention mha) {
    std::vector<std::string> result;
    for (const auto& [path, param] : mha.namedparams()) result.push_back(path + to_string(param->shape()));
    return result;
  };
  using Names = std::vector<std::string>;
  CHECK(names({8, 4, {.groups = 2, .head_width = 6, .nobias = true, .qkv_bias = true}}) ==
        Names{"/out/W(8, 24)", "/qkv/W(48, 8)", "/qkv/b(48,)"});
  CHECK(names({8, 4, {.nobias = true, .out_bias = true, .head_norm = true}}) ==
        Names{"/k_norm/gamma(2,)", "/out/W(8, 8)", "/out/b(8,)", "/q_norm/gamma(2,)", "/qkv/W(24, 8)"});
  // Heads need not divide the width. Attention to a memory has the same heads and norms.
  const L::MultiHeadAttention mha(7, 3, {.head_width = 2, .head_norm = true});
  const Variable x = drawn({2, 4, 7});
  check_equal(mha(x, x), mha(x));
  const auto qkv = functions::linear(x, mha.qkv.W, mha.qkv.b, {.n_batch_axes = 2}).array();
  const auto heads = [&](int64_t part) {
    return Variable(qkv.slice(2, 6 * part, 6).contiguous().reshape({2, 4, 3, 2}).transpose({0, 2, 1, 3}).copy());
  };
  const Variable y = functions::scaled_dot_product_attention(mha.q_norm(heads(0)), mha.k_norm(heads(1)), heads(2));
  const Variable joined(y.array().transpose({0, 2, 1, 3}).copy().reshape({2, 4, 6}));
  check_equal(mha(x), functions::linear(joined, mha.out.W, mha.out.b, {.n_batch_axes = 2}));
  CHECK_THROWS_WITH_AS(L::MultiHeadAttention(8, 4, {.head_width = -1}),
                       doctest::Contains("L::MultiHeadAttention: head_width is -1"), ValueError);
  CHECK_THROWS_AS(L::MultiHeadAttention(8, 4, {.head_width = std::numeric_limits<int64_t>::max() / 8}), ValueError);
  CHECK_THROWS_AS(L::MultiHeadAttention(8, 0, {.head_width = 2}), ValueError);
}

TEST_CASE("MultiHeadAttention leaves the cache as it was when a call throws") {
  const auto mode = no_backprop_mode();
  const L::MultiHeadAttention mha(6, 3);
  const Variable x = drawn({2, 4, 6}), y = drawn({2, 1, 6}, 2);
  const Array bad = ones({7, 5}, Dtype::bool_);
  KVCache cache(1, 8), expected(1, 8), memory(1, 8);
  CHECK_THROWS(mha(x, x, {.mask = bad, .cache = &memory.layer(0)}));
  CHECK(memory.length() == 0);
  for (KVCache* const each : {&cache, &expected}) mha(x, {.cache = &each->layer(0)});
  CHECK_THROWS(mha(y, {.mask = bad, .cache = &cache.layer(0)}));
  CHECK(cache.length() == 4);
  check_equal(mha(y, {.cache = &cache.layer(0)}), mha(y, {.cache = &expected.layer(0)}));
}

TEST_CASE("hooks of MultiHeadAttention's products see those with a memory") {
  const auto mode = no_backprop_mode();
  L::MultiHeadAttention mha(6, 3);
  mha.qkv.add_hook(link_hooks::WeightStandardization());
  const Variable x = drawn({2, 4, 6});
  check_equal(mha(x, x), mha(x));
}

TEST_CASE("MultiHeadAttention refuses the cache of other heads") {
  const auto mode = no_backprop_mode();
  const Variable x = drawn({2, 4, 8});
  const L::MultiHeadAttention four(8, 4), two(8, 4, {.groups = 2});
  KVCache cache(1, 8);
  four(x, x, {.cache = &cache.layer(0)});
  CHECK_THROWS_WITH_AS(two(x, Variable(), {.cache = &cache.layer(0)}),
                       "L::MultiHeadAttention: cache has keys of shape (2, 4, 4, 2): it must have 2 heads, the groups "
                       "of this link",
                       ValueError);
  cache.truncate(0);
  CHECK_THROWS_WITH_AS(two(x, {.cache = &cache.layer(0)}), doctest::Contains("the cache holds (2, 4, 8, 2)"),
                       TypeError);
}

TEST_CASE("transformers train, define-by-run and as static graphs") {
  for (const L::TransformerBlockOptions& options : kForms) {
    L::TransformerBlockOptions dropping = options;
    dropping.dropout = 0.2;
    Lm model(dropping);
    auto graph = static_graph(model);
    const Variable ids(words({3, 1, 4, 1}), false);
    for (int round = 0; round < 3; ++round) {
      model.cleargrads();
      random::seed(round);
      const Variable y = model(ids);
      functions::sum(y).backward();
      std::vector<std::vector<float>> expected;
      for (Parameter* p : model.params()) expected.push_back(p->grad().to_vector<float>());
      model.cleargrads();
      random::seed(round);
      const Variable z = graph(ids);
      CHECK(z.to_vector<float>() == y.to_vector<float>());
      functions::sum(z).backward();
      size_t i = 0;
      for (Parameter* p : model.params()) CHECK(p->grad().to_vector<float>() == expected[i++]);
    }
  }
}

/// Attention with a learnt bias of relative places.
class Relative : public Chain {
 public:
  Variable operator()(const Variable& x) const { return attn(x, {.mask = seen, .bias = bias}); }
  Child<L::MultiHeadAttention> attn{*this, "attn", 6, 3};
  Parameter bias{*this, "bias", {1, 3, 4, 4}, 0.5};
  Array seen = array<uint8_t>({1, 1, 1, 0}).astype(Dtype::bool_);
};

TEST_CASE("a bias of relative places learns, in 16 bits and as a static graph") {
  Relative model;
  auto graph = static_graph(model);
  for (int round = 0; round < 3; ++round) {
    const Variable x(drawn({2, 4, 6}, round).array(), false);
    const auto train = [&](const auto& call) {
      model.cleargrads();
      const Variable y = call(x);
      functions::sum(y * y).backward();
      return model.bias.grad().to_vector<float>();
    };
    const std::vector<float> expected = train(model);
    CHECK(train([&](const Variable& in) { return graph(in); }) == expected);
    const amp::Autocast autocast({.dtype = Dtype::bfloat16});
    const std::vector<float> got = train(model);
    for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - expected[i]) < 0.05);
  }
}

TEST_CASE("generate: greedy, seeded, ended, and observed") {
  const Lm model(kForms[2]);
  const auto run = [&](GenerateOptions options) {
    KVCache cache(2, 40);
    return generate([&](const Variable& x) { return model(x, &cache); }, array<int32_t>({3, 1}), options)
        .to_vector<int32_t>();
  };
  // Greedy: the best token of the whole text each time.
  std::vector<int32_t> ids{3, 1};
  std::vector<int32_t> expected;
  for (int t = 0; t < 10; ++t) {
    const auto mode = no_backprop_mode();
    const Variable y = model(Variable(words(ids), false));
    const std::vector<float> last =
        y.array().slice(1, static_cast<int64_t>(ids.size()) - 1, 1).copy().to_vector<float>();
    ids.push_back(static_cast<int32_t>(std::max_element(last.begin(), last.end()) - last.begin()));
    expected.push_back(ids.back());
  }
  CHECK(run({.max_new = 10, .temperature = 0}) == expected);
  CHECK(run({.max_new = 10, .top_k = 1}) == expected);
  CHECK(run({.max_new = 10, .top_p = 1e-9}) == expected);
  CHECK(run({.max_new = 20, .temperature = 3, .seed = 5}) == run({.max_new = 20, .temperature = 3, .seed = 5}));
  CHECK(run({.max_new = 20, .temperature = 3, .seed = 5}) != run({.max_new = 20, .temperature = 3, .seed = 6}));
  CHECK(run({.max_new = 10, .temperature = 0, .end = expected[2]}).back() == expected[2]);
  std::vector<int64_t> observed;
  const auto seen = run({.max_new = 10, .on_token = [&](int64_t token) {
                           observed.push_back(token);
                           return observed.size() < 4;
                         }});
  CHECK(seen.size() == 4);
  CHECK(std::vector<int32_t>(observed.begin(), observed.end()) == seen);
  CHECK(run({.max_new = 0}).empty());
}

TEST_CASE("draw_token wants a vector of scores") {
  CHECK_THROWS_WITH_AS(draw_token(zeros({0, 4}, Dtype::float32), {}, {}, 0.5),
                       doctest::Contains("draw_token: scores has shape (0, 4)"), TypeError);
  CHECK_THROWS_AS(draw_token(zeros({0}, Dtype::float32), {}, {}, 0.5), TypeError);
  CHECK_THROWS_AS(draw_token(zeros({3}, Dtype::int32), {}, {}, 0.5), TypeError);
  CHECK_THROWS_WITH_AS(draw_token(Array(), {}, {}, 0.5), doctest::Contains("draw_token: scores is not given"),
                       TypeError);
}

TEST_CASE("draw_token draws in proportion, from what top_k and top_p leave") {
  const Array scores = array<double>({std::log(0.1), std::log(0.2), std::log(0.4), std::log(0.3)});
  const auto shares = [&](const GenerateOptions& options, std::vector<int64_t> came = {}) {
    std::vector<int> counts(4);
    for (int i = 0; i < 1000; ++i) ++counts[static_cast<size_t>(draw_token(scores, came, options, (i + 0.5) / 1000))];
    return counts;
  };
  CHECK(shares({}) == std::vector<int>{100, 200, 400, 300});
  CHECK(shares({.top_k = 2}) == std::vector<int>{0, 0, 571, 429});
  CHECK(shares({.top_p = 0.75}) == std::vector<int>{0, 222, 444, 334});
  CHECK(shares({.temperature = 0.5}) == std::vector<int>{33, 134, 533, 300});
  CHECK(shares({.temperature = 0, .repetition_penalty = 2}, {2}) == std::vector<int>{0, 0, 0, 1000});
}

TEST_CASE("what transformers and generate refuse") {
  CHECK_THROWS_WITH_AS(L::MultiHeadAttention(6, 4),
                       doctest::Contains("L::MultiHeadAttention: heads is 4: it must divide width, 6"), ValueError);
  CHECK_THROWS_AS(L::MultiHeadAttention(std::numeric_limits<int64_t>::max(), 1), ValueError);
  CHECK_THROWS_WITH_AS(L::MultiHeadAttention(8, 4, {.groups = 3}),
                       doctest::Contains("groups is 3: it must divide heads, 4"), ValueError);
  const L::MultiHeadAttention mha(6, 3);
  CHECK_THROWS_WITH_AS(mha(drawn({2, 6})), doctest::Contains("x has shape (2, 6): it must be (batch, places, 6)"),
                       TypeError);
  CHECK_THROWS_AS(KVCache(0, 4), ValueError);
  const auto scores = [](const Variable&) { return drawn({1, 1, 5}); };
  CHECK_THROWS_WITH_AS(generate(scores, array<int32_t>({1}), {.temperature = -1}),
                       doctest::Contains("generate: temperature is -1"), ValueError);
  CHECK_THROWS_WITH_AS(generate(scores, array<int32_t>({1}), {.top_p = 0}), doctest::Contains("generate: top_p is 0"),
                       ValueError);
  CHECK_THROWS_WITH_AS(generate(scores, array<float>({1})), doctest::Contains("it must be a vector of integers"),
                       TypeError);
  const auto flat = [](const Variable&) { return drawn({5}); };
  CHECK_THROWS_WITH_AS(generate(flat, array<int32_t>({1})), doctest::Contains("the scores have shape (5,)"), TypeError);
  const auto nan = [](const Variable&) { return Variable(array<float>({NAN, NAN}, {1, 2}), false); };
  CHECK_THROWS_WITH_AS(generate(nan, array<int32_t>({1})), doctest::Contains("the best score is"), ValueError);
}

}  // namespace kusari::transformer_test
