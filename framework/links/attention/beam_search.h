#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"

namespace kusari {

struct BeamSearchOptions {
  int64_t beams = 4;            ///< texts of each row that are looked at side by side
  int64_t begin = 0;            ///< the token before the first
  int64_t end = 0;              ///< the token that ends a text; not part of the result
  int64_t max_length = 100;     ///< tokens at most
  double length_penalty = 0.6;  ///< scores are divided by ((5 + tokens) / 6) to this power, Wu et al. 2016
  Device device = {};           ///< where tokens and `which` are
};

/// A text that was found.
struct Beam {
  Array tokens;  ///< (n), int32
  double score;  ///< the logarithm of its probability, divided for its length
};

/// The likeliest texts, found by looking at several at the same time. For each of `rows` inputs of the decoder there
/// are `beams` rows behind each other.
/// `scores`: gives those of the next tokens, (rows beams, V), floating, for the last ones, (rows beams), int32.
/// `select`: is called after each step with the row that each row goes on from, (rows beams), int64, so that a state
/// can be rearranged: `h = F::get_item(h, which)`. Returns at most `beams` texts of each
/// row, the best first. Runs without gradients and in test mode. Throws ValueError for other options, and for a text
/// whose scores hold NaN or are all minus infinity, TypeError for scores of another shape.
KUSARI_API std::vector<std::vector<Beam>> beam_search(const Callable<Variable(const Variable& tokens)>& scores,
                                                      const Callable<void(const Array& which)>& select, int64_t rows,
                                                      const BeamSearchOptions& options = {});

}  // namespace kusari
