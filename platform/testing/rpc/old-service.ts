// Contracts as the previous release had them, for tests of stock servers: our clients call these names.

import type { DescService } from '@bufbuild/protobuf'
import { oldFiles, oldName } from '../../rpc/old-names.ts'

/** A service under its old name, with its rules. Throws an Error for a service that had no other name. */
export function oldService<S extends DescService>(service: S): S {
  const old = oldFiles([service.file]).getService(oldName(service.typeName))
  if (old === undefined) throw new Error(`no old ${service.typeName}`)
  return old as S
}
