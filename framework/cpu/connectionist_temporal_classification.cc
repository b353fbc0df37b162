#include "kusari/framework/kernels/connectionist_temporal_classification.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/label_alignment.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();
/// Labels with blanks around them are the states of a sequence: blank, label, blank, ..., label, blank. Rows of states
/// have two impossible ones on either side, so that every state has both neighbours that a step looks at.
template <class T>
class Sequence {
 public:
  Sequence(const T* log_p, int64_t stride, int64_t frames, const int64_t* labels, int64_t n_labels, int64_t blank)
      : log_p_{log_p},
        stride_{stride},
        frames_{frames},
        states_{2 * n_labels + 1},
        row_{states_ + 4},
        space_{empty({(2 * frames + 4) * row_}, Dtype::float64)},
        path_{empty({states_}, Dtype::int64)} {
    std::fill_n(space_.data<double>(), space_.size(), kImpossible);
    int64_t* const path = path_.data<int64_t>();
    for (int64_t s = 0; s < states_; ++s) path[s] = s % 2 == 0 ? blank : labels[s / 2];
    double* const may_skip = row(0);
    for (int64_t s = 3; s < states_; s += 2) {
      if (path[s] != path[s - 2]) may_skip[s] = 0;
    }
    for (int64_t t = 0; t < frames_; ++t) {
      for (int64_t s = 0; s < states_; ++s) emission(t)[s] = static_cast<double>(log_p_[t * stride_ + path[s]]);
    }
  }

  /// log P(labels). Keeps the probabilities of the ways that lead to each state.
  double forward() {
    if (frames_ == 0) return states_ == 1 ? 0 : kImpossible;
    double *last = row(1), *next = row(2);
    last[0] = 0;
    for (int64_t t = 0; t < frames_; ++t) {
      loops().step(last, last - 1, last - 2, row(0), emission(t), before(t), next, states_);
      std::swap(last, next);
    }
    const double a = last[states_ - 1], b = last[states_ - 2], top = std::max(a, b);
    return std::isinf(top) ? top : top + std::log(std::exp(a - top) + std::exp(b - top));
  }

  /// p[t, label] -= P(label at t | labels), after forward().
  void subtract_posterior(double total, T* p) {
    double *last = row(1), *next = row(2), *const posterior = row(3);
    std::fill_n(last, states_, kImpossible);
    // The end may follow the last two states alone: a step from there is no step, so it is written out.
    for (int64_t s = std::max<int64_t>(states_ - 2, 0); s < states_; ++s) last[s] = emission(frames_ - 1)[s];
    for (int64_t t = frames_ - 1; t >= 0; --t) {
      if (t < frames_ - 1) {
        loops().step(last, last + 1, last + 2, row(0) + 2, emission(t), posterior, next, states_);
        std::swap(last, next);
      }
      loops().posterior(before(t), last, total, posterior, states_);
      for (int64_t s = 0; s < states_; ++s) {
        T& to = p[t * stride_ + path_.data<int64_t>()[s]];
        to = static_cast<T>(static_cast<double>(to) - posterior[s]);
      }
    }
  }

 private:
  static const LabelAlignmentLoops& loops() {
    static const LabelAlignmentLoops& loops = *KUSARI_LOOPS(isa(), label_alignment_loops);
    return loops;
  }
  double* row(int64_t i) { return space_.data<double>() + i * row_ + 2; }
  double* emission(int64_t t) { return row(4 + 2 * t); }
  double* before(int64_t t) { return row(4 + 2 * t + 1); }

  const T* log_p_;
  int64_t stride_;  // elements between frames
  int64_t frames_, states_, row_;
  Array space_;
  Array path_;
};

template <class T>
void align(int64_t blank, const Array& log_p, const Array& t, const Array& input_length, const Array& label_length,
           const Array& loss, const Array& p) {
  const int64_t frames = log_p.shape()[0], batch = log_p.shape()[1], symbols = log_p.shape()[2];
  const int64_t stride = batch * symbols, labels = t.shape()[1];
  const auto numbers = [](const Array& x) {
    return std::span<const int64_t>(x.data<int64_t>(), static_cast<size_t>(x.size()));
  };
  kernels::check_label_alignment({frames, symbols, labels}, numbers(t), numbers(input_length), numbers(label_length));
  parallel_for(batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      int64_t used = input_length.data<int64_t>()[b];
      Sequence<T> sequence(log_p.data<T>() + b * symbols, stride, used, t.data<int64_t>() + b * labels,
                           label_length.data<int64_t>()[b], blank);
      const double total = sequence.forward();
      loss.data<T>()[b] = static_cast<T>(-total);
      if (!p.is_defined()) continue;
      T* const gradient = p.data<T>() + b * symbols;
      if (total == kImpossible) {
        used = 0;
      } else if (used > 0) {
        sequence.subtract_posterior(total, gradient);
      }
      for (int64_t at = used; at < frames; ++at) std::fill_n(gradient + at * stride, symbols, T(0));
    }
  });
}

void connectionist_temporal_classification(Params<kernels::LabelAlignment> alignment, In log_p, In t, In input_length,
                                           In label_length, Out loss, InOut p) {
  const auto integers = [](const Array& x) { return x.astype(Dtype::int64).contiguous(); };
  const auto run = log_p->dtype() == Dtype::float64 ? align<double> : align<float>;
  run(alignment->blank_symbol, log_p->contiguous(), integers(t), integers(input_length), integers(label_length), loss,
      p);
}

}  // namespace

void register_connectionist_temporal_classification(Backend& backend) {
  backend.add<kernels::ConnectionistTemporalClassification>(connectionist_temporal_classification);
}

}  // namespace kusari::cpu
