#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"

namespace kusari {

struct GenerateOptions {
  int64_t max_new = 100;          ///< tokens at most
  double temperature = 1;         ///< scores are divided by it; 0 takes the best token each time
  int64_t top_k = 0;              ///< so many of the best tokens alone can come; 0: all
  double top_p = 1;               ///< in (0, 1]: the fewest of the best tokens whose probabilities reach this
  double repetition_penalty = 1;  ///< positive: scores above 0 of tokens that came are divided by it, others multiplied
  std::optional<int64_t> end = std::nullopt;    ///< the token that ends the text; it is the last of the result
  std::optional<uint64_t> seed = std::nullopt;  ///< the same text each time; the process's stream when not given
  Callable<bool(int64_t token)> on_token = {};  ///< gets each token when it is there; false ends the text
};

/// A text that goes on from `ids`, token by token. `scores`: gives those of the next tokens, (1, T, V) or (T, V),
/// floating, for the tokens that it gets, (1, T) and int32; the last row counts. It first gets all of ids, then each
/// token by itself, and keeps what it has seen in a KVCache or in the state of its links:
/// `generate([&](const Variable& x) { return model(x, &cache); }, prompt, {.top_k = 40})`.
/// ids: (T), T >= 1, integers. Returns the new tokens, (n), int32. Runs without gradients and in test mode. Throws
/// TypeError when shapes do not fit, ValueError for other options, and for scores of which none is a number.
KUSARI_API Array generate(const Callable<Variable(const Variable& ids)>& scores, const Array& ids,
                          const GenerateOptions& options = {});

/// Draws one token as generate() does. scores: (V), floating; throws TypeError otherwise. came: the tokens so far.
/// uniform: in [0, 1), decides.
KUSARI_API int64_t draw_token(const Array& scores, std::span<const int64_t> came, const GenerateOptions& options,
                              double uniform);

}  // namespace kusari
