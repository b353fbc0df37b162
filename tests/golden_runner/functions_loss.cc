#include "kusari/framework/functions/evaluation/accuracy.h"
#include "kusari/framework/functions/evaluation/binary_accuracy.h"
#include "kusari/framework/functions/loss/absolute_error.h"
#include "kusari/framework/functions/loss/huber_loss.h"
#include "kusari/framework/functions/loss/mean_absolute_error.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/loss/reduce.h"
#include "kusari/framework/functions/loss/sigmoid_cross_entropy.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/loss/squared_error.h"
#include "kusari/framework/functions/loss/vae.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

F::Reduce reduce(Args& a, F::Reduce otherwise = F::Reduce::mean) {
  const std::string name = a.text("reduce", "");
  if (name.empty()) return otherwise;
  if (name == "mean") return F::Reduce::mean;
  if (name == "sum") return F::Reduce::sum;
  if (name == "no") return F::Reduce::no;
  throw std::runtime_error("reduce=" + name);
}

F::HuberReduce huber_reduce(Args& a) {
  const std::string name = a.text("reduce", "sum_along_second_axis");
  if (name == "sum_along_second_axis") return F::HuberReduce::sum_along_second_axis;
  if (name == "no") return F::HuberReduce::no;
  throw std::runtime_error("reduce=" + name);
}

F::SoftTargetLoss soft_target_loss(Args& a) {
  const std::string name = a.text("soft_target_loss", "cross-entropy");
  if (name == "cross-entropy") return F::SoftTargetLoss::cross_entropy;
  if (name == "kl-divergence") return F::SoftTargetLoss::kl_divergence;
  throw std::runtime_error("soft_target_loss=" + name);
}

}  // namespace

// Losses and the measures of functions/evaluation.
void add_loss_functions(FunctionTable& table) {
  table.insert({
      {"absolute_error", binary(F::absolute_error, "x0", "x1")},
      {"accuracy",
       call([](Args& a) { return F::accuracy(a.var("y"), a.var("t"), a.optional_integer("ignore_label")); })},
      {"bernoulli_nll",
       call([](Args& a) { return F::bernoulli_nll(a.var("x"), a.var("y"), reduce(a, F::Reduce::sum)); })},
      {"binary_accuracy", binary(F::binary_accuracy, "y", "t")},
      {"gaussian_kl_divergence", call([](Args& a) {
         return F::gaussian_kl_divergence(a.var("mean"), a.var("ln_var"), reduce(a, F::Reduce::sum));
       })},
      {"gaussian_nll", call([](Args& a) {
         return F::gaussian_nll(a.var("x"), a.var("mean"), a.var("ln_var"), reduce(a, F::Reduce::sum));
       })},
      {"huber_loss",
       call([](Args& a) { return F::huber_loss(a.var("x"), a.var("t"), a.number("delta", 1), huber_reduce(a)); })},
      {"mean_absolute_error", binary(F::mean_absolute_error, "x0", "x1")},
      {"mean_squared_error", binary(F::mean_squared_error, "x0", "x1")},
      {"sigmoid_cross_entropy", call([](Args& a) {
         return F::sigmoid_cross_entropy(a.var("x"), a.var("t"),
                                         {.normalize = a.flag("normalize", true), .reduce = reduce(a)});
       })},
      {"softmax_cross_entropy", call([](Args& a) {
         return F::softmax_cross_entropy(a.var("x"), a.var("t"),
                                         {.normalize = a.flag("normalize", true),
                                          .cache_score = a.flag("cache_score", true),
                                          .class_weight = a.array("class_weight"),
                                          .ignore_label = a.integer("ignore_label", -1),
                                          .reduce = reduce(a),
                                          .enable_double_backprop = a.flag("enable_double_backprop", false),
                                          .soft_target_loss = soft_target_loss(a)});
       })},
      {"squared_difference", binary(F::squared_difference, "x1", "x2")},
      {"squared_error", binary(F::squared_error, "x0", "x1")},
  });
}

}  // namespace kusari::golden
