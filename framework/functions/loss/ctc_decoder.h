#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

// Labels out of the scores that F::connectionist_temporal_classification trains. Both functions take x as it does, one
// array (B, V) per frame, floating: scores, of which softmax gives probabilities, so that log probabilities are taken
// as they are; or all of it as one array (T, B, V). blank_symbol: in [0, V). They compute in float64 on the host, which
// waits for the scores, and throw TypeError when shapes or dtypes do not fit, ValueError for no frame, a blank symbol
// or length out of range, and for scores of a frame that hold NaN, plus infinity, or nothing above minus infinity.
namespace kusari::functions {

struct CtcGreedyDecoderOptions {
  Array input_length = Array();  ///< (B), integers: frames that count; by default all
};

/// Labels of the likeliest way through the frames: the symbol of each with the largest score, of equal ones the first,
/// where neighbours that are equal count once and blanks not at all. It need not be the likeliest sequence of labels.
/// Returns those of each of the B sequences. Graves et al. 2006 (best path decoding); tf.nn.ctc_greedy_decoder.
KUSARI_API std::vector<std::vector<int32_t>> ctc_greedy_decoder(std::span<const Variable> x, int64_t blank_symbol,
                                                                const CtcGreedyDecoderOptions& options = {});
KUSARI_API std::vector<std::vector<int32_t>> ctc_greedy_decoder(const Variable& scores, int64_t blank_symbol,
                                                                const CtcGreedyDecoderOptions& options = {});
inline std::vector<std::vector<int32_t>> ctc_greedy_decoder(std::initializer_list<Variable> x, int64_t blank_symbol,
                                                            const CtcGreedyDecoderOptions& options = {}) {
  return ctc_greedy_decoder(std::span<const Variable>(x.begin(), x.size()), blank_symbol, options);
}

struct CtcBeamSearchDecoderOptions {
  Array input_length = Array();  ///< (B), integers: frames that count; by default all
  int64_t beam_width = 100;      ///< beginnings that are kept after each frame, in [1, 10000]
  int64_t top_paths = 1;         ///< sequences of labels to return of each input, in [1, beam_width]
};

/// A sequence of labels that F::ctc_beam_search_decoder found.
struct CtcLabelling {
  std::vector<int32_t> labels;
  double log_probability;  ///< of all ways to write the labels that the search kept; of all that there are, if it
                           ///< dropped no beginning
};

/// The likeliest sequences of labels, whose probability is the sum over all ways to write them: after each frame the
/// beam_width likeliest beginnings go on. Returns for each of the B sequences at most top_paths of them, the likeliest
/// first. Graves et al. 2006; Hannun et al. 2014 (prefix beam search, here without a language model);
/// tf.nn.ctc_beam_search_decoder.
KUSARI_API std::vector<std::vector<CtcLabelling>> ctc_beam_search_decoder(
    std::span<const Variable> x, int64_t blank_symbol, const CtcBeamSearchDecoderOptions& options = {});
KUSARI_API std::vector<std::vector<CtcLabelling>> ctc_beam_search_decoder(
    const Variable& scores, int64_t blank_symbol, const CtcBeamSearchDecoderOptions& options = {});
inline std::vector<std::vector<CtcLabelling>> ctc_beam_search_decoder(std::initializer_list<Variable> x,
                                                                      int64_t blank_symbol,
                                                                      const CtcBeamSearchDecoderOptions& options = {}) {
  return ctc_beam_search_decoder(std::span<const Variable>(x.begin(), x.size()), blank_symbol, options);
}

}  // namespace kusari::functions
