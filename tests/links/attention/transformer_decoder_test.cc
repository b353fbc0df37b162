#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/gradient_check.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/gelu.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/loss/token_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/attention/kv_cache.h"
#include "kusari/framework/links/attention/multi_head_attention.h"
#include "kusari/framework/links/attention/transformer_block.h"
#include "kusari/framework/links/attention/transformer_decoder_block.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::transformer_decoder_test {
namespace {

Array drawn(const Shape& shape, int seed = 1) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i) + seed));
  return array(values, shape);
}
void check_equal(const Variable& got, const Variable& expected) {
  REQUIRE(got.shape() == expected.shape());
  const auto a = got.to_vector<float>(), b = expected.to_vector<float>();
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4).scale(1));
}
bool differ(const Variable& a, const Variable& b) {
  const auto x = a.to_vector<float>(), y = b.to_vector<float>();
  for (size_t i = 0; i < x.size(); ++i)
    if (std::abs(x[i] - y[i]) > 1e-4F) return true;
  return false;
}
Variable places(const Variable& x, int64_t first, int64_t count) {
  return Variable(x.array().slice(1, first, count).copy(), false);
}

const L::TransformerBlockOptions kForms[] = {
    {},
    {.pre_norm = false, .mlp = L::BlockMlp::relu},
    {.mlp_width = 12,
     .mlp = L::BlockMlp::gated_silu,
     .norm = L::BlockNorm::rms,
     .groups = 2,
     .nobias = true,
     .rotary_base = 10000},
};

/// Reads words, and writes words: the words that come next.
class Translator : public Chain {
 public:
  Translator(int64_t words, int64_t width, int64_t most)
      : source{*this, "source", words, width},
        target{*this, "target", words, width},
        place{*this, "place", {most, width}, initializers::Normal(1)},
        encoder{*this, "encoder", width, 2},
        decoder{*this, "decoder", width, 2},
        out{*this, "out", width, words} {}
  Variable operator()(const Variable& from, const Variable& to) const { return next(read(from), to, {}); }
  Variable read(const Variable& from) const { return encoder(placed(source(from), 0)); }
  Variable next(const Variable& memory, const Variable& to, const L::DecoderCall& call) const {
    return out(decoder(placed(target(to), call.cache == nullptr ? 0 : call.cache->length()), memory, call), 2);
  }

  Child<L::EmbedID> source, target;
  Parameter place;
  Child<L::TransformerBlock> encoder;
  Child<L::TransformerDecoderBlock> decoder;
  Child<L::Linear> out;

 private:
  Variable placed(const Variable& x, int64_t first) const {
    return x + functions::get_item(place, Slice{first, first + x.shape()[1]});
  }
};

}  // namespace

TEST_CASE("TransformerDecoderBlock: two attentions and two products, each added") {
  const Variable x(drawn({2, 3, 8})), memory(drawn({2, 5, 8}, 2));
  const L::TransformerDecoderBlock pre(8, 4);
  const auto mlp = [](const L::TransformerDecoderBlock& block, const Variable& h) {
    return block.mlp_out(functions::gelu(block.mlp_in(h, 2)), 2);
  };
  Variable h = x + pre.attn(pre.ln_1(x));
  h = h + pre.cross_attn(pre.ln_cross(h), memory);
  check_equal(pre(x, memory), h + mlp(pre, pre.ln_2(h)));
  const L::TransformerDecoderBlock post(8, 4, {.pre_norm = false});
  h = post.ln_1(x + post.attn(x));
  h = post.ln_cross(h + post.cross_attn(h, memory));
  check_equal(post(x, memory), post.ln_2(h + mlp(post, h)));
}

TEST_CASE("TransformerDecoderBlock is causal, and sees all of memory") {
  const auto mode = no_backprop_mode();
  const L::TransformerDecoderBlock block(8, 4);
  const Array x = drawn({1, 4, 8}), memory = drawn({1, 5, 8}, 2);
  const Array later = x.copy();
  later.slice(1, 2, 1).copy_from(drawn({1, 1, 8}, 5));
  const Variable y = block(x, memory), z = block(later, memory);
  check_equal(places(z, 0, 2), places(y, 0, 2));
  CHECK(differ(places(z, 2, 1), places(y, 2, 1)));
  CHECK(differ(places(z, 3, 1), places(y, 3, 1)));
  const Array other = memory.copy();
  other.slice(1, 4, 1).copy_from(drawn({1, 1, 8}, 7));
  CHECK(differ(places(block(x, other), 0, 1), places(y, 0, 1)));
}

TEST_CASE("TransformerDecoderBlock sees no padding of memory, given as lengths or as a mask") {
  const auto mode = no_backprop_mode();
  for (const L::TransformerBlockOptions& options : kForms) {
    const L::TransformerDecoderBlock block(8, 4, options);
    const Array x = drawn({2, 3, 8}), memory = drawn({2, 5, 8}, 2);
    const Variable padded = block(x, memory, {.memory_lengths = array<int32_t>({5, 2})});
    const std::vector<bool> sees{true, true, true, true, true, true, true, false, false, false};
    std::vector<int32_t> bits(sees.begin(), sees.end());
    const Array mask = array(bits, {2, 1, 1, 5}).astype(Dtype::bool_);
    check_equal(block(x, memory, {.memory_mask = mask}), padded);
    const Array second = x.slice(0, 1, 1).copy(), cut = memory.slice(0, 1, 1).slice(1, 0, 2).copy();
    check_equal(block(second, cut), Variable(padded.array().slice(0, 1, 1).copy(), false));
    // Those of x itself: the first row as it is, the second as if it had one place.
    const Variable own = block(x, memory, {.lengths = array<int32_t>({3, 1})}), whole = block(x, memory);
    check_equal(Variable(own.array().slice(0, 0, 1).copy()), Variable(whole.array().slice(0, 0, 1).copy()));
    check_equal(places(own, 0, 1), places(whole, 0, 1));
    CHECK(differ(own, whole));
  }
}

TEST_CASE("TransformerDecoderBlock gives the same with caches, place by place") {
  const auto mode = no_backprop_mode();
  for (const L::TransformerBlockOptions& options : kForms) {
    const L::TransformerDecoderBlock block(8, 4, options);
    const Variable x(drawn({2, 6, 8})), memory(drawn({2, 5, 8}, 2));
    const Array lengths = array<int32_t>({5, 2});
    const Variable whole = block(x, memory, {.memory_lengths = lengths});
    KVCache own(1, 6), across(1, 5);
    const L::DecoderCall call{.memory_lengths = lengths, .cache = &own.layer(0), .memory_cache = &across.layer(0)};
    check_equal(block(places(x, 0, 2), memory, call), places(whole, 0, 2));
    CHECK(across.length() == 5);
    check_equal(block(places(x, 2, 1), memory, call), places(whole, 2, 1));  // memory again, which is not read
    for (int64_t t = 3; t < 6; ++t) check_equal(block(places(x, t, 1), {}, call), places(whole, t, 1));
    CHECK(own.length() == 6);
    CHECK(across.length() == 5);
    // Without a cache for memory.
    own.truncate(0);
    const L::DecoderCall plain{.memory_lengths = lengths, .cache = &own.layer(0)};
    for (int64_t t = 0; t < 6; ++t) check_equal(block(places(x, t, 1), memory, plain), places(whole, t, 1));
    // Rows change places, as in a beam search: that of the second twice.
    own.truncate(3);
    const Array rows = array<int64_t>({1, 1});
    own.select(rows);
    across.select(rows);
    const Variable next =
        block(places(x, 3, 1), {},
              {.memory_lengths = array<int32_t>({2, 2}), .cache = &own.layer(0), .memory_cache = &across.layer(0)});
    check_equal(Variable(next.array().slice(0, 1, 1).copy()),
                Variable(places(whole, 3, 1).array().slice(0, 1, 1).copy()));
    // Another memory in the same cache.
    own.truncate(0);
    across.truncate(0);
    const Variable other(drawn({2, 4, 8}, 9));
    check_equal(block(x, other, {.cache = &own.layer(0), .memory_cache = &across.layer(0)}), block(x, other));
  }
}

TEST_CASE("TransformerDecoderBlock has gradients of first and second order by x and memory") {
  for (const L::TransformerBlockOptions& options : kForms) {
    L::TransformerBlockOptions small = options;
    small.mlp_width = 3;
    if (small.mlp == L::BlockMlp::relu) small.mlp = L::BlockMlp::gelu;  // without the kinks
    L::TransformerDecoderBlock block(4, 2, small);
    std::vector<Variable> params;
    for (const Parameter* p : block.params()) params.push_back(*p);
    const Arrays inputs(drawn({2, 2, 4}).astype(Dtype::float64), drawn({2, 3, 4}, 2).astype(Dtype::float64));
    const auto f = [&](const Variable& x, const Variable& memory) {
      return block(x, memory, {.memory_lengths = array<int32_t>({3, 1})});
    };
    CHECK_NOTHROW(gradient_check::check_backward(f, inputs, {}, {.atol = 1e-5, .rtol = 1e-4, .params = params}));
    CHECK_NOTHROW(
        gradient_check::check_double_backward(f, inputs, {}, {}, {.atol = 1e-4, .rtol = 1e-3, .params = params}));
  }
}

TEST_CASE("TransformerDecoderBlock trains in a static graph as define-by-run") {
  for (const L::TransformerBlockOptions& options : kForms) {
    L::TransformerBlockOptions dropping = options;
    dropping.dropout = 0.2;
    L::TransformerDecoderBlock block(8, 4, dropping);
    auto graph = static_graph(block);
    const Variable x(drawn({2, 3, 8})), memory(drawn({2, 5, 8}, 2));
    for (int round = 0; round < 3; ++round) {
      block.cleargrads();
      random::seed(round);
      const Variable y = block(x, memory);
      functions::sum(y).backward();
      std::vector<std::vector<float>> expected;
      for (Parameter* p : block.params()) expected.push_back(p->grad().to_vector<float>());
      block.cleargrads();
      random::seed(round);
      const Variable z = graph(x, memory);
      CHECK(z.to_vector<float>() == y.to_vector<float>());
      functions::sum(z).backward();
      size_t i = 0;
      for (Parameter* p : block.params()) CHECK(p->grad().to_vector<float>() == expected[i++]);
    }
  }
}

TEST_CASE("TransformerDecoderBlock is saved and loaded, and copied") {
  const testing::ScratchDirectory directory;
  const std::string path = directory / "block.npz";
  const Variable x(drawn({2, 3, 8})), memory(drawn({2, 5, 8}, 2));
  for (const L::TransformerBlockOptions& options : kForms) {
    L::TransformerDecoderBlock block(8, 4, options), other(8, 4, options);
    CHECK(differ(block(x, memory), other(x, memory)));
    serializers::save_npz(path, block);
    serializers::load_npz(path, other);
    CHECK(other(x, memory).to_vector<float>() == block(x, memory).to_vector<float>());
    const L::TransformerDecoderBlock same = block;
    CHECK(same(x, memory).to_vector<float>() == block(x, memory).to_vector<float>());
  }
}

TEST_CASE("a translator of one encoding and one decoding block learns to reverse") {
  random::seed(3);
  constexpr int64_t kWords = 8, kPlaces = 5, kBatch = 32;
  Translator model(kWords, 16, kPlaces);
  optimizers::Adam optimizer({.alpha = 1e-2});
  optimizer.setup(model);
  // Words 2 .. 7; 1 begins a text.
  const auto batch = [&](uint64_t seed, int64_t rows) {
    std::vector<int32_t> from, to;
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<int32_t> text;
      for (int64_t i = 0; i < kPlaces; ++i) {
        const auto place = static_cast<uint64_t>(row * kPlaces + i);
        text.push_back(static_cast<int32_t>(2 + philox_word(seed, place) % (kWords - 2)));
      }
      from.insert(from.end(), text.begin(), text.end());
      to.push_back(1);
      to.insert(to.end(), text.rbegin(), text.rend());
    }
    return std::pair{array(from, {rows, kPlaces}), array(to, {rows, kPlaces + 1})};
  };
  double loss = 0;
  for (uint64_t step = 0; step < 300; ++step) {
    const auto [from, to] = batch(step, kBatch);
    const Variable given(to.slice(1, 0, kPlaces).contiguous(), false),
        wanted(to.slice(1, 1, kPlaces).contiguous(), false);
    optimizer.update([&] {
      const Variable result = functions::token_cross_entropy(model(Variable(from, false), given), wanted);
      loss = result.item<double>();
      return result;
    });
  }
  CHECK(loss < 0.1);
  // Written word by word, with caches, for texts that it has not seen.
  const auto mode = no_backprop_mode();
  const auto [from, to] = batch(1000, 50);
  KVCache own(1, kPlaces), across(1, kPlaces);
  const L::DecoderCall call{.cache = &own.layer(0), .memory_cache = &across.layer(0)};
  Variable memory = model.read(Variable(from, false)), last(to.slice(1, 0, 1).contiguous(), false);
  int64_t right = 0;
  for (int64_t t = 0; t < kPlaces; ++t) {
    const Variable scores = model.next(memory, last, call);
    last = Variable(functions::argmax(scores, 2).array().astype(Dtype::int32), false);
    memory = Variable();
    const auto got = last.to_vector<int32_t>(), wanted = to.slice(1, t + 1, 1).copy().to_vector<int32_t>();
    for (size_t i = 0; i < got.size(); ++i) right += got[i] == wanted[i] ? 1 : 0;
  }
  CHECK(right >= 240);  // of 250
}

TEST_CASE("what TransformerDecoderBlock refuses") {
  const Variable x(drawn({2, 3, 8})), memory(drawn({2, 5, 8}, 2));
  const L::TransformerDecoderBlock block(8, 4);
  CHECK_THROWS_WITH_AS(L::TransformerDecoderBlock(8, 3),
                       doctest::Contains("L::MultiHeadAttention: heads is 3: it must divide width, 8"), ValueError);
  CHECK_THROWS_AS(L::TransformerDecoderBlock(8, 4, {.mlp_width = -1}), ValueError);
  CHECK_THROWS_WITH_AS(block(x, Variable()), "L::MultiHeadAttention: memory is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(block(x, drawn({2, 5, 6})),
                       doctest::Contains("memory has shape (2, 5, 6): it must be (batch, places, 8)"), TypeError);
  CHECK_THROWS_AS(block(x, drawn({3, 5, 8})), TypeError);
  CHECK_THROWS_WITH_AS(block(x, memory, {.memory_lengths = array<int32_t>({5})}),
                       doctest::Contains("lengths has shape (1,): it must be (2,)"), TypeError);
  CHECK_THROWS_WITH_AS(block(x, memory, {.memory_mask = ones({2, 1, 1, 3}, Dtype::bool_)}),
                       doctest::Contains("mask has shape (2, 1, 1, 3): it must broadcast to (2, 4, 3, 5)"), TypeError);
  const auto mode = no_backprop_mode();
  KVCache across(1, 5);
  const L::DecoderCall call{.memory_cache = &across.layer(0)};
  CHECK_THROWS_AS(across.layer(0).filled(), StateError);
  CHECK_THROWS_AS(block(x, drawn({2, 6, 8}), call), StateError);  // more places than the cache has
  block(x, memory, call);
  CHECK_THROWS_WITH_AS(block(x, drawn({2, 4, 8}), call),
                       "L::MultiHeadAttention: memory has 4 places and cache those of a memory with 5: truncate the "
                       "cache to 0 before another memory",
                       ValueError);
}

}  // namespace kusari::transformer_decoder_test
