// A shared library that is looked for at run time and may not be there.
#pragma once

#include <memory>
#include <string>

#include "support/result.h"

namespace ec::edgetpu {

class SharedLibrary {
 public:
  // DeviceUnavailable when it cannot be loaded; the message has the loader's words.
  static Result<SharedLibrary> open(const std::string& name);

  const std::string& name() const { return name_; }
  // Stores the function's address; DeviceUnavailable names what is missing.
  template <class F>
  Status resolve(const char* symbol, F*& function) const {
    EC_TRY(void* address, find(symbol));
    function = reinterpret_cast<F*>(address);
    return {};
  }

 private:
  SharedLibrary(std::string name, void* handle);
  Result<void*> find(const char* symbol) const;

  std::string name_;
  std::shared_ptr<void> handle_;
};

}  // namespace ec::edgetpu
