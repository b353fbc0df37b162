#include "kusari/framework/links/model/transformer_lm.h"

#include <cmath>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

const char* const kCall = "L::TransformerLM";
constexpr double kScale = 0.02;  // GPT-2's

TransformerBlockOptions block_options(const TransformerLMOptions& options) {
  argument::count(kCall, "layers", options.layers);
  if (const auto count = static_cast<int64_t>(options.windows.size()); count > 0) {
    if (count != options.layers) {
      throw ValueError(std::string(kCall) + ": windows has " + std::to_string(count) + " elements: it must have " +
                       std::to_string(options.layers) + ", the layers, or none");
    }
    if (options.blocks.window) {
      throw ValueError(std::string(kCall) + ": windows and blocks.window are given: one of them must do");
    }
  }
  TransformerBlockOptions result = options.blocks;
  result.is_causal = true;
  result.dropout = options.dropout;
  if (!result.initial_w) {
    result.initial_w = initializers::Normal(kScale);
    if (!result.initial_w_out) {
      result.initial_w_out = initializers::Normal(kScale / std::sqrt(2 * static_cast<double>(options.layers)));
    }
  }
  return result;
}

}  // namespace

TransformerLM::TransformerLM(int64_t words, const Options& options)
    : wte{*this,
          "wte",
          argument::positive(kCall, "words", words),
          argument::positive(kCall, "width", options.width),
          {.initial_w = initializers::Normal(kScale)}},
      wpe{*this,
          "wpe",
          {argument::positive(kCall, "block", options.block), options.width},
          initializers::Normal(kScale),
          options.blocks.rotary_base == 0},
      h{*this, "h"},
      ln_f{*this, "ln_f", block_norm(options.width, options.blocks)},
      lm_head{*this, "lm_head", {words, options.width}, initializers::Normal(kScale), !options.tied},
      dropout{argument::zero_to_below_one(kCall, "dropout", options.dropout)},
      block_{options.block} {
  TransformerBlockOptions blocks = block_options(options);
  for (int64_t i = 0; i < options.layers; ++i) {
    if (!options.windows.empty()) blocks.window = options.windows[static_cast<size_t>(i)];
    h.append(TransformerBlock(options.width, options.heads, blocks));
  }
}

Variable TransformerLM::hidden(const Variable& ids, KVCache* cache) const {
  functions::expect_given(ids, kCall, "ids");
  if (ids.ndim() != 2) {
    throw TypeError(std::string(kCall) + ": ids has shape " + to_string(ids.shape()) + ": it must be (batch, places)");
  }
  if (cache != nullptr && cache->size() != h.size()) {
    throw ValueError(std::string(kCall) + ": cache has " + std::to_string(cache->size()) + " layers: the model has " +
                     std::to_string(h.size()));
  }
  const int64_t first = cache == nullptr ? 0 : cache->length(), end = first + ids.shape()[1];
  if (end > block_) {
    throw ValueError(std::string(kCall) + ": ids ends at place " + std::to_string(end) + ": a text has at most " +
                     std::to_string(block_) + ", the option block");
  }
  Variable x = wte(ids);
  if (wpe.is_defined()) x = x + functions::get_item(wpe, Slice{first, end});
  if (dropout > 0) x = functions::dropout(x, dropout);
  for (size_t i = 0; i < h.size(); ++i) x = h[i](x, {.cache = cache == nullptr ? nullptr : &cache->layer(i)});
  return x;
}

Variable TransformerLM::scores(const Variable& x) const {
  const Variable& w = lm_head.is_defined() ? static_cast<const Variable&>(lm_head) : wte.W;
  return functions::linear(ln_f(x), w, Variable(), {.n_batch_axes = 2});
}

Variable TransformerLM::operator()(const Variable& ids, KVCache* cache) const {
  const LinkCall hooked(*this);
  return scores(hidden(ids, cache));
}

Variable TransformerLM::next(const Variable& ids, KVCache* cache) const {
  const LinkCall hooked(*this);
  const Variable x = hidden(ids, cache);
  if (x.shape()[1] == 0) throw ValueError(std::string(kCall) + "::next: ids has no places: it must have at least one");
  return scores(functions::get_item(x, {kEllipsis, Slice{-1, {}}, Slice{}}));
}

KVCache TransformerLM::cache(int64_t capacity) const {
  return KVCache(static_cast<int64_t>(h.size()), capacity == 0 ? block_ : capacity);
}

}  // namespace kusari::links
