#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/rnn/lstm.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/state.h"

namespace kusari::links {

struct LstmOptions {
  Initializer lateral_init = {};  ///< of what h meets; default: LeCunNormal. Fills each quarter of the rows for itself
  Initializer upward_init = {};   ///< of what x meets, likewise
  Initializer bias_init = 0;      ///< of a, i and o
  Initializer forget_bias_init = 1;
};

/// One step of long short-term memory, F::lstm(c, upward(x) + lateral(h)), whose c and h the caller keeps.
/// chainer.links.StatelessLSTM.
class KUSARI_API StatelessLSTM : public Chain {
 public:
  using Options = LstmOptions;
  /// in_size may be kInfer.
  StatelessLSTM(int64_t in_size, int64_t out_size, Options options = {});
  explicit StatelessLSTM(int64_t out_size, Options options = {})
      : StatelessLSTM(kInfer, out_size, std::move(options)) {}

  /// x: (B, in_size). c, h: (B, out_size), or undefined for zeros. Returns the new c and h. Throws TypeError when
  /// shapes or dtypes do not fit.
  functions::CellOutput operator()(const Variable& c, const Variable& h, const Variable& x) const;

  Child<Linear> upward;   ///< W: (4 out_size, in_size), b: (4 out_size): a, i, f, o of one unit after each other
  Child<Linear> lateral;  ///< W: (4 out_size, out_size), no bias

 protected:
  functions::CellOutput step(const Variable& c, const Variable& h, const Variable& x) const;
};

/// A layer of long short-term memory that keeps c and h between calls: each call is one step. Chainer's names,
/// Chainer's order of gates. chainer.links.LSTM.
class KUSARI_API LSTM : public StatelessLSTM {
 public:
  using StatelessLSTM::StatelessLSTM;

  /// x: (B, in_size). Returns h: (B, out_size). A batch may be smaller than that of the step before: the rows behind it
  /// keep their state, as sequences that have ended. Throws TypeError when it is larger, StateError when another thread
  /// is in a call.
  Variable operator()(const Variable& x);
  /// The same for all times at once, several times as fast: xs: (T, B, in_size), returns (T, B, out_size). The links
  /// upward and lateral are not called, so their hooks do not run. Throws TypeError when shapes do not fit.
  Variable sequence(const Variable& xs);
  /// Goes on from these, (B, out_size), on the link's device. Throws TypeError when one is undefined.
  void set_state(const Variable& c, const Variable& h);
  void reset_state();

  State c{*this, "c"}, h{*this, "h"};

 private:
  void expect_rows(const char* call, int64_t batch) const;

  detail::InUse in_use_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
