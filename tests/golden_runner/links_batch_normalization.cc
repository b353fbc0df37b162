#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/normalization/batch_renormalization.h"
#include "kusari/framework/links/normalization/decorrelated_batch_normalization.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {
namespace {

/// A link that is called with x and perhaps finetune.
template <class T>
LinkUnderTest normalization(T link) {
  return link_under_test(std::move(link), "forward(x, finetune=False)",
                         [](T& self, Args& args) { return self(args.var("x"), {.finetune = args.flag("finetune")}); });
}

LinkUnderTest batch_normalization_link(Args& a) {
  const L::BatchNormalizationOptions options{.decay = a.number("decay"),
                                             .eps = a.number("eps"),
                                             .dtype = a.optional_dtype("dtype"),
                                             .use_gamma = a.flag("use_gamma"),
                                             .use_beta = a.flag("use_beta"),
                                             .initial_gamma = initializer_argument(a, "initial_gamma", 1),
                                             .initial_beta = initializer_argument(a, "initial_beta", 0),
                                             .axis = a.shape_or_empty("axis"),
                                             .initial_avg_mean = initializer_argument(a, "initial_avg_mean", 0),
                                             .initial_avg_var = initializer_argument(a, "initial_avg_var", 1)};
  return normalization(L::BatchNormalization(a.optional_shape("size").value_or(Shape{kInfer}), options));
}

LinkUnderTest batch_renormalization_link(Args& a) {
  const L::BatchRenormalizationOptions options{.rmax = a.number("rmax"),
                                               .dmax = a.number("dmax"),
                                               .decay = a.number("decay"),
                                               .eps = a.number("eps"),
                                               .dtype = a.optional_dtype("dtype"),
                                               .use_gamma = a.flag("use_gamma"),
                                               .use_beta = a.flag("use_beta"),
                                               .initial_gamma = initializer_argument(a, "initial_gamma", 1),
                                               .initial_beta = initializer_argument(a, "initial_beta", 0),
                                               .initial_avg_mean = initializer_argument(a, "initial_avg_mean", 0),
                                               .initial_avg_var = initializer_argument(a, "initial_avg_var", 1)};
  return normalization(L::BatchRenormalization(a.optional_integer("size").value_or(kInfer), options));
}

LinkUnderTest decorrelated_batch_normalization_link(Args& a) {
  return normalization(L::DecorrelatedBatchNormalization(a.integer("size"), {.groups = a.integer("groups"),
                                                                             .decay = a.number("decay"),
                                                                             .eps = a.number("eps"),
                                                                             .dtype = dtype_of(a.raw("dtype"))}));
}

}  // namespace

void add_batch_normalization_links(LinkTable& table) {
  table.insert({
      {"BatchNormalization", batch_normalization_link},
      {"BatchRenormalization", batch_renormalization_link},
      {"DecorrelatedBatchNormalization", decorrelated_batch_normalization_link},
  });
}

}  // namespace kusari::golden
