#include "kusari/framework/kernels/decompositions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/QR>
#include <Eigen/SVD>

#include "kusari/framework/cpu/matrices.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

using ColumnMatrix = Eigen::MatrixXd;

template <class M>
void set_identity(M& matrix) {
  if (matrix.size() > 0) matrix.setIdentity();
}

// What follows goes through no empty matrices, however many or however wide they are.

void qr_decomposition(In a, Out q, Out r) {
  if (q->size() == 0 && r->size() == 0) return;
  const Matrices from(*a);
  const MatrixResult to_q(*q), to_r(*r);
  const Matrices qs(to_q.array()), rs(to_r.array());
  for_each_matrix(from.count, from.rows * from.columns * from.columns, [&](int64_t i) {
    auto qi = qs.at(i);
    auto ri = rs.at(i);
    if (!from.all_finite(i)) {
      qi.setConstant(std::numeric_limits<double>::quiet_NaN());
      ri.setConstant(std::numeric_limits<double>::quiet_NaN());
      return;
    }
    set_identity(qi);
    if (ri.size() > 0) ri.setZero();
    if (from.rows == 0 || from.columns == 0) return;
    const Eigen::HouseholderQR<ColumnMatrix> solver(from.at(i));
    qi = solver.householderQ() * ColumnMatrix::Identity(qs.rows, qs.columns);
    const int64_t k = std::min(from.rows, from.columns);
    ri.topRows(k) = solver.matrixQR().topRows(k).triangularView<Eigen::Upper>();
  });
  to_q.finish();
  to_r.finish();
}

void singular_value_decomposition(In a, Out u, Out s, Out vt) {
  if (s->size() == 0 && (!u || u->size() == 0) && (!vt || vt->size() == 0)) return;
  const Matrices from(*a);
  const bool wants_vectors = static_cast<bool>(u);
  const MatrixResult to_s(*s), to_u(wants_vectors ? *u : *s), to_vt(wants_vectors ? *vt : *s);
  const int64_t k = std::min(from.rows, from.columns);
  const bool is_full = wants_vectors && (u->shape(-1) != k || vt->shape(-2) != k);
  const unsigned wanted = !wants_vectors ? 0
                          : is_full      ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                         : Eigen::ComputeThinU | Eigen::ComputeThinV;
  for_each_matrix(from.count, from.rows * from.columns * k * 10, [&](int64_t i) {
    Eigen::Map<Eigen::VectorXd> si(to_s.array().data<double>() + i * k, k);
    const bool is_finite = from.all_finite(i);
    if (!is_finite) si.setConstant(std::numeric_limits<double>::quiet_NaN());
    if (!wants_vectors && (!is_finite || k == 0)) return;
    if (is_finite && k > 0) {
      const Eigen::BDCSVD<ColumnMatrix> solver(from.at(i), wanted);
      si = solver.singularValues();
      if (!wants_vectors) return;
      Matrices(to_u.array()).at(i) = solver.matrixU();
      Matrices(to_vt.array()).at(i) = solver.matrixV().transpose();
      return;
    }
    auto ui = Matrices(to_u.array()).at(i);
    auto vi = Matrices(to_vt.array()).at(i);
    set_identity(ui);
    set_identity(vi);
    if (!is_finite) {
      ui.setConstant(std::numeric_limits<double>::quiet_NaN());
      vi.setConstant(std::numeric_limits<double>::quiet_NaN());
    }
  });
  to_s.finish();
  if (!wants_vectors) return;
  to_u.finish();
  to_vt.finish();
}

void solve_linear(Params<kernels::MatrixCall> call, In a, In b, Out x) {
  if (x->size() == 0) return;
  const Matrices left(*a), right(*b);
  const MatrixResult to(*x);
  const Matrices results(to.array());
  for_each_matrix(left.count, left.rows * left.rows * (left.rows + right.columns), [&](int64_t i) {
    const LuDecomposition lu(left.at(i));
    if (lu.is_singular()) throw_bad_matrix(call->call, "singular", i, left.count);
    results.at(i) = lu.solve(right.at(i));
  });
  to.finish();
}

void log_determinant(In a, Out sign, Out log) {
  const Matrices from(*a);
  const MatrixResult to_sign(*sign), to_log(*log);
  for_each_matrix(from.count, from.rows * from.rows * from.rows, [&](int64_t i) {
    double s = 1, l = 0;
    if (from.rows > 0) {
      const LuDecomposition lu(from.at(i));
      s = lu.permutation_sign();
      for (const double pivot : lu.pivots()) {
        s = pivot == 0 ? 0 : pivot < 0 ? -s : s;
        l += std::log(std::abs(pivot));
      }
      if (std::isnan(l)) s = l;
    }
    to_sign.array().data<double>()[i] = s;
    to_log.array().data<double>()[i] = l;
  });
  to_sign.finish();
  to_log.finish();
}

}  // namespace

void register_decompositions(Backend& backend) {
  backend.add<kernels::QrDecomposition>(&qr_decomposition);
  backend.add<kernels::SingularValueDecomposition>(&singular_value_decomposition);
  backend.add<kernels::SolveLinear>(&solve_linear);
  backend.add<kernels::LogDeterminant>(&log_determinant);
}

}  // namespace kusari::cpu
