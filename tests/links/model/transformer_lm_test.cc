#include "kusari/framework/links/model/transformer_lm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/links/attention/beam_search.h"
#include "kusari/framework/links/attention/generate.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari::transformer_lm_test {
namespace {

const L::TransformerLMOptions kGpt2{.block = 8, .layers = 2, .heads = 2, .width = 8};
const L::TransformerLMOptions kLlama{.block = 8,
                                     .layers = 2,
                                     .heads = 4,
                                     .width = 8,
                                     .tied = false,
                                     .blocks = {.mlp_width = 12,
                                                .mlp = L::BlockMlp::gated_silu,
                                                .norm = L::BlockNorm::rms,
                                                .groups = 2,
                                                .nobias = true,
                                                .rotary_base = 10000}};

Variable ids(const Shape& shape) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < numel(shape); ++i) values.push_back(static_cast<int32_t>((7 * i + i * i) % 11));
  return Variable(array(values, shape), false);
}
Variable places(const Variable& x, int64_t first, int64_t count) {
  return Variable(x.array().slice(1, first, count).copy(), false);
}
// The scores of places first, first + 1, ... of a whole text.
std::vector<float> rows(const Variable& scores, int64_t first, int64_t count) {
  return Variable(scores.array().slice(1, first, count).copy()).to_vector<float>();
}
void check_near(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
}

}  // namespace

TEST_CASE("a cache and the last place give the same scores") {
  for (const L::TransformerLMOptions& options : {kGpt2, kLlama}) {
    const L::TransformerLM model(11, options);
    const Variable text = ids({2, 8});
    const Variable all = model(text);
    CHECK(all.shape() == Shape{2, 8, 11});
    KVCache cache = model.cache();
    check_near(model(places(text, 0, 3), &cache).to_vector<float>(), rows(all, 0, 3));
    check_near(model(places(text, 3, 1), &cache).to_vector<float>(), rows(all, 3, 1));
    const Variable last = model.next(places(text, 4, 4), &cache);
    CHECK(last.shape() == Shape{2, 1, 11});
    check_near(last.to_vector<float>(), rows(all, 7, 1));
    CHECK(cache.length() == 8);
    CHECK_THROWS_WITH_AS(model.next(places(text, 0, 1), &cache),
                         "L::TransformerLM: ids ends at place 9: a text has at most 8, the option block", ValueError);
    // What comes later changes nothing.
    check_near(model(places(text, 0, 5)).to_vector<float>(), rows(all, 0, 5));
  }
}

TEST_CASE("a language model's windows: of all layers, or of each") {
  const auto scores = [](std::optional<int64_t> of_all, const std::vector<std::optional<int64_t>>& of_each) {
    L::TransformerLMOptions options = kLlama;
    options.blocks.window = of_all;
    options.windows = of_each;
    L::TransformerLM model(11, options);
    float value = 0;
    for (Parameter* p : model.params()) {
      const Array x = p->array().reshape({p->size()});
      for (int64_t i = 0; i < x.size(); ++i) x.slice(0, i, 1).fill(std::sin(value += 1));
    }
    return rows(model(ids({1, 8})), 0, 8);
  };
  const std::vector<float> all = scores({}, {}), near = scores(3, {});
  CHECK(scores({}, {3, 3}) == near);
  CHECK(scores({}, {{}, {}}) == all);
  CHECK(scores({}, {{}, 8}) == all);
  const std::vector<float> first = scores({}, {3, {}}), second = scores({}, {{}, 3});
  CHECK(first != second);
  // A place as far as the window sees all.
  for (const std::vector<float>* windowed : {&near, &first, &second}) {
    for (size_t i = 0; i < 3 * 11; ++i) CHECK((*windowed)[i] == all[i]);
    for (size_t place = 3; place < 8; ++place) {
      CHECK(!std::equal(all.begin() + 11 * place, all.begin() + 11 * (place + 1), windowed->begin() + 11 * place));
    }
  }
}

TEST_CASE("a cache whose rows are chosen anew") {
  const L::TransformerLM model(11, kGpt2);
  const Variable texts = ids({2, 5});
  KVCache cache = model.cache();
  model(places(texts, 0, 4), &cache);
  cache.select(array(std::vector<int64_t>{1, 0, 1}));
  const auto last = texts.array().slice(1, 4, 1).to_vector<int32_t>();
  const Variable next(array(std::vector<int32_t>{last[1], last[0], last[1]}, {3, 1}), false);
  const auto got = model.next(next, &cache).to_vector<float>(), all = rows(model(texts), 4, 1);
  check_near({got.begin(), got.begin() + 11}, {all.begin() + 11, all.end()});
  check_near({got.begin() + 11, got.begin() + 22}, {all.begin(), all.begin() + 11});
  check_near({got.begin() + 22, got.end()}, {all.begin() + 11, all.end()});
  CHECK_THROWS_AS(cache.select(array(std::vector<int64_t>{3})), IndexError);
  CHECK_THROWS_WITH_AS(cache.select(array(std::vector<float>{0})),
                       doctest::Contains("KVCache::select: rows has shape (1,)"), TypeError);
  CHECK_THROWS_AS(cache.select(Array()), TypeError);
  // An empty cache takes any batch.
  cache.truncate(0);
  cache.select(array(std::vector<int64_t>{0}));
  CHECK(model.next(ids({1, 2}), &cache).shape() == Shape{1, 1, 11});
}

TEST_CASE("beams of a transformer are scored as whole texts are") {
  const L::TransformerLM model(11, kGpt2);
  const Variable prompt = ids({1, 2});
  constexpr int64_t kBeams = 3;
  KVCache cache = model.cache();
  model(places(prompt, 0, 1), &cache);
  cache.select(array(std::vector<int64_t>(kBeams, 0)));
  const int64_t begin = prompt.to_vector<int32_t>()[1];
  const auto found = beam_search(
      [&](const Variable& tokens) {
        return Variable(
            model.next(Variable(tokens.array().reshape({kBeams, 1}), false), &cache).array().reshape({kBeams, 11}),
            false);
      },
      [&](const Array& which) { cache.select(which); }, 1,
      {.beams = kBeams, .begin = begin, .end = 10, .max_length = 4, .length_penalty = 0});
  REQUIRE(!found[0].empty());
  for (const Beam& beam : found[0]) {
    std::vector<int32_t> text = prompt.to_vector<int32_t>();
    const auto tokens = beam.tokens.to_vector<int32_t>();
    text.insert(text.end(), tokens.begin(), tokens.end());
    const Variable log_prob =
        functions::log_softmax(model(Variable(array(text, {1, static_cast<int64_t>(text.size())}), false)), 2);
    double expected = 0;
    for (size_t i = 0; i <= tokens.size(); ++i) {
      if (i == tokens.size() && tokens.size() == 4) break;  // not ended
      const int64_t next = i < tokens.size() ? tokens[i] : 10;
      expected += log_prob.array().at(0).at(static_cast<int64_t>(i) + 1).at(next).item<double>();
    }
    CHECK(beam.score == doctest::Approx(expected).epsilon(1e-4));
  }
}

TEST_CASE("the parameters of a language model") {
  const auto names = [](L::TransformerLM model) {
    std::vector<std::string> result;
    for (const auto& [path, param] : model.namedparams()) result.push_back(path);
    return result;
  };
  L::TransformerLMOptions one = kGpt2;
  one.layers = 1;
  CHECK(names(L::TransformerLM(11, one)) ==
        std::vector<std::string>{"/wpe", "/h/0/attn/out/W", "/h/0/attn/out/b", "/h/0/attn/qkv/W", "/h/0/attn/qkv/b",
                                 "/h/0/ln_1/beta", "/h/0/ln_1/gamma", "/h/0/ln_2/beta", "/h/0/ln_2/gamma",
                                 "/h/0/mlp_in/W", "/h/0/mlp_in/b", "/h/0/mlp_out/W", "/h/0/mlp_out/b", "/ln_f/beta",
                                 "/ln_f/gamma", "/wte/W"});
  one = kLlama;
  one.layers = 1;
  CHECK(names(L::TransformerLM(11, one)) ==
        std::vector<std::string>{"/lm_head", "/h/0/attn/out/W", "/h/0/attn/qkv/W", "/h/0/ln_1/gamma", "/h/0/ln_2/gamma",
                                 "/h/0/mlp_in/W", "/h/0/mlp_out/W", "/ln_f/gamma", "/wte/W"});
  // They begin as GPT-2's.
  const L::TransformerLM model(500, {.block = 100, .layers = 8, .heads = 4, .width = 100});
  const auto deviation = [](const Variable& w) {
    double sum = 0;
    for (const float value : w.to_vector<float>()) sum += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(sum / static_cast<double>(w.size()));
  };
  CHECK(deviation(model.wte.W) == doctest::Approx(0.02).epsilon(0.05));
  CHECK(deviation(model.wpe) == doctest::Approx(0.02).epsilon(0.05));
  CHECK(deviation(model.h[0].attn.qkv.W) == doctest::Approx(0.02).epsilon(0.05));
  CHECK(deviation(model.h[0].attn.out.W) == doctest::Approx(0.005).epsilon(0.05));
  CHECK(deviation(model.h[0].mlp_out.W) == doctest::Approx(0.005).epsilon(0.05));
}

TEST_CASE("a language model in a static graph") {
  L::TransformerLMOptions options = kGpt2;
  options.dropout = 0.1;
  L::TransformerLM model(11, options);
  StaticGraph replayed(model);
  const auto test_mode = using_config(&Config::train, false);
  for (int i = 0; i < 3; ++i) {
    const Variable text = ids({2, 5});
    CHECK(replayed(text).to_vector<float>() == model(text).to_vector<float>());
  }
}

TEST_CASE("language models that do not fit") {
  CHECK_THROWS_WITH_AS(L::TransformerLM(0), "L::TransformerLM: words is 0: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(L::TransformerLM(3, {.layers = 0}), "L::TransformerLM: layers is 0: it must be in [1, 10000]",
                       ValueError);
  CHECK_THROWS_AS(L::TransformerLM(3, {.heads = 5, .width = 8}), ValueError);
  CHECK_THROWS_AS(L::TransformerLM(3, {.layers = 1, .heads = 1, .width = 8, .dropout = 1}), ValueError);
  CHECK_THROWS_WITH_AS(L::TransformerLM(3, {.layers = 2, .heads = 1, .width = 8, .windows = {4}}),
                       "L::TransformerLM: windows has 1 elements: it must have 2, the layers, or none", ValueError);
  CHECK_THROWS_WITH_AS(
      L::TransformerLM(3, {.layers = 1, .heads = 1, .width = 8, .blocks = {.window = 4}, .windows = {{}}}),
      "L::TransformerLM: windows and blocks.window are given: one of them must do", ValueError);
  CHECK_THROWS_AS(L::TransformerLM(3, {.layers = 1, .heads = 1, .width = 8, .windows = {0}}), ValueError);
  const L::TransformerLM model(11, kGpt2);
  CHECK_THROWS_WITH_AS(model(ids({4})), "L::TransformerLM: ids has shape (4,): it must be (batch, places)", TypeError);
  CHECK_THROWS_AS(model(ids({1, 9})), ValueError);
  CHECK_THROWS_AS(model(Variable()), TypeError);
  CHECK_THROWS_WITH_AS(model.next(ids({1, 0})), doctest::Contains("it must have at least one"), ValueError);
  KVCache cache(3, 8);
  CHECK_THROWS_WITH_AS(model(ids({1, 1}), &cache), "L::TransformerLM: cache has 3 layers: the model has 2", ValueError);
}

}  // namespace kusari::transformer_lm_test
