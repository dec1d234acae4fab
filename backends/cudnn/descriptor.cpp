// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cudnn/descriptor.h"

namespace attn::cudnn {

void Maker::check(std::string_view call, int status) {
  if (status == 0 || failed()) return;
  status_ = status;
  error_ = library_.failure(call, subject_, status);
}

Descriptor Maker::begin(Kind kind, std::string_view subject) {
  if (failed()) return {};
  subject_ = subject;
  RawDescriptor raw = nullptr;
  check("cudnnBackendCreateDescriptor", library_.create(static_cast<int>(kind), &raw));
  return failed() ? Descriptor() : Descriptor(library_, raw);
}

void Maker::set(const Descriptor& at, Attribute attribute, Type type, std::int64_t count, const void* values) {
  if (failed()) return;
  check("cudnnBackendSetAttribute",
        library_.set(at.raw(), static_cast<int>(attribute), static_cast<int>(type), count, values));
}

void Maker::finish(const Descriptor& at) {
  if (failed()) return;
  check("cudnnBackendFinalize", library_.finalize(at.raw()));
}

}  // namespace attn::cudnn
