#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/axes.h"

// Linear algebra of arrays, by NumPy's names and rules: matrices are the last two axes, and those before are a batch.
// Integers and bool are computed in config.dtype's floating dtype (products apart), half types in float32. Matrices
// that are not square where they must be, and other shapes that do not fit, throw TypeError, an undefined array
// StateError. What throws ValueError for a singular matrix on the CPU gives NaN on a GPU.
namespace kusari::xp {

/// The product of matrices, or of vectors; leading axes broadcast. numpy.matmul.
KUSARI_API Array matmul(const Array& a, const Array& b);
/// Sums of products that letters name: xp::einsum("ij,jk->ik", {a, b}). dtypes promote; integers are summed in float64,
/// exactly up to 2^53. Throws ValueError for subscripts that cannot be understood. numpy.einsum.
KUSARI_API Array einsum(std::string_view subscripts, std::span<const Array> operands);
inline Array einsum(std::string_view subscripts, std::initializer_list<Array> operands) {
  return einsum(subscripts, std::span<const Array>(operands.begin(), operands.size()));
}
/// The products of each element of a with each of b, both flattened: (a.size, b.size). numpy.outer.
KUSARI_API Array outer(const Array& a, const Array& b);

/// The inverse. Throws ValueError for a singular matrix. numpy.linalg.inv.
KUSARI_API Array inv(const Array& a);
/// The determinant: (...). numpy.linalg.det.
KUSARI_API Array det(const Array& a);
/// What slogdet gives: det(a) = sign exp(log).
struct SignedLog {
  Array sign, log;
};
/// The sign of the determinant and the logarithm of its size; 0 and -inf for a singular matrix. numpy.linalg.slogdet.
KUSARI_API SignedLog slogdet(const Array& a);
/// The lower triangular y with y y^T = a, reading a's lower triangle. Throws ValueError for a matrix that is not
/// positive definite. numpy.linalg.cholesky.
KUSARI_API Array cholesky(const Array& a);
/// x with a x = b. a: (..., n, n); b: (..., n, m), or one vector (n). Batches broadcast. Throws ValueError for a
/// singular matrix. numpy.linalg.solve.
KUSARI_API Array solve(const Array& a, const Array& b);

/// What qr gives: a = q r.
struct QrFactors {
  Array q;  ///< (..., m, k), its columns orthonormal
  Array r;  ///< (..., k, n), upper triangular
};
struct QrOptions {
  bool complete = false;  ///< k is m instead of min(m, n)
};
/// The QR decomposition of a: (..., m, n). numpy.linalg.qr.
KUSARI_API QrFactors qr(const Array& a, const QrOptions& options = {});

/// What svd gives: a = u diag(s) vt.
struct SingularFactors {
  Array u;   ///< (..., m, k)
  Array s;   ///< (..., min(m, n)), from the largest
  Array vt;  ///< (..., k, n)
};
struct SvdOptions {
  bool full_matrices = true;  ///< u is (..., m, m) and vt (..., n, n); otherwise k is min(m, n)
};
/// The singular value decomposition of a: (..., m, n). numpy.linalg.svd.
KUSARI_API SingularFactors svd(const Array& a, const SvdOptions& options = {});
/// Its singular values alone. numpy.linalg.svdvals.
KUSARI_API Array svdvals(const Array& a);

/// What eigh gives.
struct EigenFactors {
  Array values;   ///< (..., n), from the smallest
  Array vectors;  ///< (..., n, n), one in each column
};
/// The eigenvalues and eigenvectors of symmetric matrices, of which the lower triangle is read. numpy.linalg.eigh.
KUSARI_API EigenFactors eigh(const Array& a);
/// The eigenvalues alone. numpy.linalg.eigvalsh.
KUSARI_API Array eigvalsh(const Array& a);

struct RankOptions {
  std::optional<double> rcond = std::nullopt;  ///< singular values up to rcond times the largest count as 0; if not
                                               ///< given, the dtype's epsilon times the larger size of the matrix
};
/// The pseudo-inverse (Moore and Penrose) by the singular values. numpy.linalg.pinv.
KUSARI_API Array pinv(const Array& a, const RankOptions& options = {});
/// How many singular values do not count as 0: int64. numpy.linalg.matrix_rank.
KUSARI_API Array matrix_rank(const Array& a, const RankOptions& options = {});

/// What lstsq gives.
struct LeastSquares {
  Array x;          ///< (n) or (n, k)
  Array residuals;  ///< (k): sums of squares of b - a x; empty where a's rank is below n or m <= n
  int64_t rank;     ///< of a
  Array s;          ///< a's singular values
};
/// The shortest x for which |b - a x| is smallest. a: (m, n); b: (m) or (m, k). numpy.linalg.lstsq.
KUSARI_API LeastSquares lstsq(const Array& a, const Array& b, const RankOptions& options = {});

/// a multiplied n times by itself; for negative n its inverse. numpy.linalg.matrix_power.
KUSARI_API Array matrix_power(const Array& a, int64_t n);

/// Which norm. Of vectors the (sum of |x|^ord)^(1 / ord), the largest or smallest |x| for inf and -inf, the number of
/// elements that are not 0 for 0.
struct VectorNormOptions {
  double ord = 2;
  Axes axis = std::nullopt;  ///< along which the vectors are; all of them: x flattened
  bool keepdims = false;
};
/// Norms of vectors, floating. Throws ValueError for ord NaN, and for inf where there is no element.
/// numpy.linalg.vector_norm.
KUSARI_API Array vector_norm(const Array& x, const VectorNormOptions& options = {});

/// frobenius: the root of the sum of squares. nuclear: the sum of singular values. spectral: the largest of them,
/// smallest_singular the smallest. one: the largest sum of sizes in a column. infinity: in a row.
enum class MatrixNorm : uint8_t { frobenius, nuclear, spectral, smallest_singular, one, infinity };
/// Norms of the matrices in the last two axes: (...), floating. numpy.linalg.matrix_norm.
KUSARI_API Array matrix_norm(const Array& x, MatrixNorm norm = MatrixNorm::frobenius);

}  // namespace kusari::xp
