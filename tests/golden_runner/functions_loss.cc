#include "kusari/framework/functions/evaluation/accuracy.h"
#include "kusari/framework/functions/evaluation/binary_accuracy.h"
#include "kusari/framework/functions/evaluation/classification_summary.h"
#include "kusari/framework/functions/evaluation/r2_score.h"
#include "kusari/framework/functions/loss/absolute_error.h"
#include "kusari/framework/functions/loss/black_out.h"
#include "kusari/framework/functions/loss/connectionist_temporal_classification.h"
#include "kusari/framework/functions/loss/contrastive.h"
#include "kusari/framework/functions/loss/crf1d.h"
#include "kusari/framework/functions/loss/cross_covariance.h"
#include "kusari/framework/functions/loss/decov.h"
#include "kusari/framework/functions/loss/discriminative_loss.h"
#include "kusari/framework/functions/loss/hinge.h"
#include "kusari/framework/functions/loss/huber_loss.h"
#include "kusari/framework/functions/loss/mean_absolute_error.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/loss/negative_sampling.h"
#include "kusari/framework/functions/loss/reduce.h"
#include "kusari/framework/functions/loss/sigmoid_cross_entropy.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/loss/squared_error.h"
#include "kusari/framework/functions/loss/triplet.h"
#include "kusari/framework/functions/loss/vae.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/crf_path.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

F::Reduce reduce(Args& a) {
  return a.choice<F::Reduce>("reduce", {{"mean", F::Reduce::mean}, {"sum", F::Reduce::sum}, {"no", F::Reduce::no}});
}

F::HuberReduce huber_reduce(Args& a) {
  return a.choice<F::HuberReduce>(
      "reduce", {{"sum_along_second_axis", F::HuberReduce::sum_along_second_axis}, {"no", F::HuberReduce::no}});
}

F::SoftTargetLoss soft_target_loss(Args& a) {
  return a.choice<F::SoftTargetLoss>("soft_target_loss", {{"cross-entropy", F::SoftTargetLoss::cross_entropy},
                                                          {"kl-divergence", F::SoftTargetLoss::kl_divergence}});
}

// {"sampler": "x3"}: a copy of that array, whatever the shape.
F::Sampler sampler(Args& a) {
  const Array samples = a.decode(a.raw("sampler").at("sampler")).array();
  return [samples](const Shape&) { return samples.copy(); };
}

F::CovarianceReduce covariance_reduce(Args& a) {
  return a.choice<F::CovarianceReduce>(
      "reduce", {{"half_squared_sum", F::CovarianceReduce::half_squared_sum}, {"no", F::CovarianceReduce::no}});
}

F::HingeNorm hinge_norm(Args& a) {
  return a.choice<F::HingeNorm>("norm", {{"L1", F::HingeNorm::L1}, {"L2", F::HingeNorm::L2}});
}

F::Multioutput multioutput(Args& a) {
  return a.choice<F::Multioutput>("multioutput", {{"uniform_average", F::Multioutput::uniform_average},
                                                  {"raw_values", F::Multioutput::raw_values}});
}

F::ClassificationSummaryOptions summary_options(Args& a) {
  return {.label_num = a.optional_integer("label_num"),
          .beta = a.signature().find("beta") == nullptr ? 1 : a.number("beta"),
          .ignore_label = a.integer("ignore_label")};
}

/// A score of each class and the support.
Variables both(const std::pair<Variable, Variable>& score) { return {score.first, score.second}; }

}  // namespace

// Losses and the measures of functions/evaluation.
void add_loss_functions(FunctionTable& table) {
  table.insert({
      {"absolute_error", binary(F::absolute_error, "x0", "x1")},
      {"accuracy",
       call([](Args& a) { return F::accuracy(a.var("y"), a.var("t"), a.optional_integer("ignore_label")); })},
      {"argmax_crf1d", call([](Args& a) { return flat(F::argmax_crf1d(a.var("cost"), a.vars("xs"))); })},
      {"bernoulli_nll", call([](Args& a) { return F::bernoulli_nll(a.var("x"), a.var("y"), reduce(a)); })},
      {"binary_accuracy", binary(F::binary_accuracy, "y", "t")},
      {"black_out",
       call([](Args& a) { return F::black_out(a.var("x"), a.var("t"), a.var("W"), a.var("samples"), reduce(a)); })},
      {"classification_summary", call([](Args& a) {
         const F::ClassificationSummary all = F::classification_summary(a.var("y"), a.var("t"), summary_options(a));
         return Variables(all.precision, all.recall, all.fbeta, all.support);
       })},
      {"connectionist_temporal_classification", call([](Args& a) {
         return F::connectionist_temporal_classification(
             a.vars("x"), a.var("t"), a.integer("blank_symbol"),
             {.input_length = a.array("input_length"), .label_length = a.array("label_length"), .reduce = reduce(a)});
       })},
      {"contrastive", call([](Args& a) {
         return F::contrastive(a.var("x0"), a.var("x1"), a.var("y"), a.number("margin"), reduce(a));
       })},
      {"crf1d", call([](Args& a) { return F::crf1d(a.var("cost"), a.vars("xs"), a.vars("ys"), reduce(a)); })},
      {"cross_covariance",
       call([](Args& a) { return F::cross_covariance(a.var("y"), a.var("z"), covariance_reduce(a)); })},
      {"decov", call([](Args& a) { return F::decov(a.var("h"), covariance_reduce(a)); })},
      {"discriminative_margin_based_clustering_loss", call([](Args& a) {
         const F::DiscriminativeLoss all =
             F::discriminative_margin_based_clustering_loss(a.var("embeddings"), a.var("labels"), a.number("delta_v"),
                                                            a.number("delta_d"), a.integer("max_embedding_dim"),
                                                            {.norm = static_cast<int>(a.integer("norm")),
                                                             .alpha = a.number("alpha"),
                                                             .beta = a.number("beta"),
                                                             .gamma = a.number("gamma")});
         return Variables(all.variance, all.distance, all.regularization);
       })},
      {"f1_score", call([](Args& a) { return both(F::f1_score(a.var("y"), a.var("t"), summary_options(a))); })},
      {"gaussian_kl_divergence",
       call([](Args& a) { return F::gaussian_kl_divergence(a.var("mean"), a.var("ln_var"), reduce(a)); })},
      {"gaussian_nll",
       call([](Args& a) { return F::gaussian_nll(a.var("x"), a.var("mean"), a.var("ln_var"), reduce(a)); })},
      {"hinge", call([](Args& a) { return F::hinge(a.var("x"), a.var("t"), hinge_norm(a), reduce(a)); })},
      {"huber_loss",
       call([](Args& a) { return F::huber_loss(a.var("x"), a.var("t"), a.number("delta"), huber_reduce(a)); })},
      {"mean_absolute_error", binary(F::mean_absolute_error, "x0", "x1")},
      {"mean_squared_error", binary(F::mean_squared_error, "x0", "x1")},
      {"negative_sampling", call([](Args& a) {
         Array samples;
         const Variable y =
             F::negative_sampling(a.var("x"), a.var("t"), a.var("W"), sampler(a), a.integer("sample_size"),
                                  {.reduce = reduce(a), .return_samples = &samples});
         return with_extra(a, "return_samples", y, samples);
       })},
      {"precision", call([](Args& a) { return both(F::precision(a.var("y"), a.var("t"), summary_options(a))); })},
      {"r2_score", call([](Args& a) {
         a.refuse("sample_weight");
         return F::r2_score(a.var("pred"), a.var("true"), multioutput(a));
       })},
      {"recall", call([](Args& a) { return both(F::recall(a.var("y"), a.var("t"), summary_options(a))); })},
      {"sigmoid_cross_entropy", call([](Args& a) {
         return F::sigmoid_cross_entropy(a.var("x"), a.var("t"),
                                         {.normalize = a.flag("normalize"), .reduce = reduce(a)});
       })},
      {"softmax_cross_entropy", call([](Args& a) {
         return F::softmax_cross_entropy(a.var("x"), a.var("t"),
                                         {.normalize = a.flag("normalize"),
                                          .cache_score = a.flag("cache_score"),
                                          .class_weight = a.array("class_weight"),
                                          .ignore_label = a.integer("ignore_label"),
                                          .reduce = reduce(a),
                                          .enable_double_backprop = a.flag("enable_double_backprop"),
                                          .soft_target_loss = soft_target_loss(a)});
       })},
      {"squared_difference", binary(F::squared_difference, "x1", "x2")},
      {"squared_error", binary(F::squared_error, "x0", "x1")},
      {"triplet", call([](Args& a) {
         return F::triplet(a.var("anchor"), a.var("positive"), a.var("negative"), a.number("margin"), reduce(a));
       })},
  });
}

}  // namespace kusari::golden
