#pragma once

#include <algorithm>
#include <cstdint>

#include "kusari/framework/cpu/convolution.h"
#include "kusari/framework/cpu/convolution_im2col.h"
#include "kusari/framework/cpu/isa/packed_convolution.h"

// What packed convolutions of float32, of bfloat16 and of 8 bits share.
namespace kusari::cpu {

const PackedConvolutionLoops& packed_loops();

/// The sizes of a group, and the cut that follows; x has `channels` elements at each position. No addresses.
PackedConvolution packed_geometry(const ConvolutionProblem& p, int64_t channels);

/// Whether positions have so few elements that whole lines of the kernel are better read at once, from a copy of x with
/// zeros around it.
bool reads_lines(const PackedConvolution& call);

/// Whether numbers narrower than 32 bits, which the loops read several at once, do not lie as those do.
inline bool is_between_words(const void* x) { return reinterpret_cast<uintptr_t>(x) % sizeof(uint32_t) != 0; }

/// The sizes of that copy, and the change to a call that reads it.
class PaddedLines {
 public:
  explicit PaddedLines(const PackedConvolution& call);
  void use(PackedConvolution& call, const void* copy) const;
  int64_t height, width;
};

/// Blocks of positions, with the columns divided as well where there are few of them. Results do not depend on it.
class PackedTasks {
 public:
  PackedTasks(const ConvolutionProblem& p, const PackedConvolution& call, int64_t most_rows);
  /// Calls body(begin, end, first, last) for positions and panels, on all threads.
  template <class Body>
  void run(const Body& body) const {
    const int64_t width = ceil_divide(panels_, strips_);
    run_tasks(blocks_ * strips_, [&](int64_t task) {
      const int64_t begin = task / strips_ * rows_, first = task % strips_ * width;
      if (first < panels_) body(begin, std::min(positions_, begin + rows_), first, std::min(panels_, first + width));
    });
  }

 private:
  int64_t positions_, panels_, rows_, blocks_, strips_;
};

/// What a task does after its sums: the problem's function, where the loops did not cut.
void finish_packed(const ConvolutionProblem& p, const PackedConvolution& call, int64_t begin, int64_t end,
                   int64_t first, int64_t last);

/// convolve_packed where x and y are bfloat16.
void convolve_packed_bfloat16(const ConvolutionProblem& p, const ConvolutionArrays& a);

}  // namespace kusari::cpu
