// gRPC server reflection, v1 and v1alpha, from the descriptors that the code already has, without .proto files.

import { type DescFile, type DescMessage, type DescService, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code, type ConnectRouter } from '@connectrpc/connect'
import { file_google_rpc_error_details as errorDetails } from '#gen/google/rpc/error_details_pb.js'
import { file_google_rpc_status as status } from '#gen/google/rpc/status_pb.js'
import {
  ServerReflection,
  type ServerReflectionRequest,
} from '#gen/grpc/reflection/v1/reflection_pb.js'
import { ServerReflection as ServerReflectionAlpha } from '#gen/grpc/reflection/v1alpha/reflection_pb.js'
import { oldFiles } from '../old-names.ts'

type Query = ServerReflectionRequest['messageRequest']

/**
 * Serves reflection, v1 and v1alpha, for `services` and itself, and for the details of errors. An unknown name is answered
 * in the protocol's own error response (NotFound), not refused. Old names of contracts are found too, but not listed.
 */
export function reflectionRoutes(router: ConnectRouter, services: readonly DescService[]): void {
  const contracts = contractsOf([...services, ServerReflection, ServerReflectionAlpha])
  // The two versions have the same messages in two packages.
  const alpha = ServerReflectionAlpha as unknown as typeof ServerReflection
  for (const version of [ServerReflection, alpha]) {
    router.service(version, {
      async *serverReflectionInfo(questions) {
        for await (const { host, messageRequest } of questions) {
          yield {
            validHost: host,
            originalRequest: { host, messageRequest },
            messageResponse: respond(contracts, messageRequest),
          }
        }
      },
    })
  }
}

/** Files by name, and by every symbol that they declare. */
interface Index {
  files: Map<string, DescFile>
  symbols: Map<string, DescFile>
  messages: Set<string>
}

interface Contracts extends Index {
  services: string[]
  /** The same under the old names, made when somebody first asks for one. */
  old: () => Index
}

function respond(contracts: Contracts, query: Query) {
  switch (query.case) {
    case 'listServices':
      return {
        case: 'listServicesResponse' as const,
        value: { service: contracts.services.map((name) => ({ name })) },
      }
    case 'fileByFilename':
      return fileResponse(find(contracts, 'files', query.value), 'file not found')
    case 'fileContainingSymbol': {
      const symbol = query.value.replace(/^\./, '')
      return fileResponse(find(contracts, 'symbols', symbol), 'symbol not found')
    }
    case 'fileContainingExtension':
      return errorResponse(Code.NotFound, 'extension not found')
    case 'allExtensionNumbersOfType':
      return contracts.messages.has(query.value) || contracts.old().messages.has(query.value)
        ? {
            case: 'allExtensionNumbersResponse' as const,
            value: { baseTypeName: query.value, extensionNumber: [] },
          }
        : errorResponse(Code.NotFound, 'type not found')
    default:
      return errorResponse(Code.InvalidArgument, 'unknown kind of request')
  }
}

function find(contracts: Contracts, by: 'files' | 'symbols', name: string): DescFile | undefined {
  return contracts[by].get(name) ?? contracts.old()[by].get(name)
}

function errorResponse(errorCode: Code, errorMessage: string) {
  return { case: 'errorResponse' as const, value: { errorCode, errorMessage } }
}

function fileResponse(file: DescFile | undefined, absent: string) {
  if (file === undefined) return errorResponse(Code.NotFound, absent)
  const fileDescriptorProto = [...withDependencies(file)].map((found) =>
    toBinary(FileDescriptorProtoSchema, found.proto),
  )
  return { case: 'fileDescriptorResponse' as const, value: { fileDescriptorProto } }
}

/** The file and all that it imports, itself first. */
function withDependencies(file: DescFile, found = new Set<DescFile>()): Set<DescFile> {
  if (found.has(file)) return found
  found.add(file)
  for (const dependency of file.dependencies) withDependencies(dependency, found)
  return found
}

function contractsOf(services: readonly DescService[]): Contracts {
  const reachable = new Set<DescFile>()
  const roots = [...services.map(({ file }) => file), errorDetails, status]
  for (const file of roots) withDependencies(file, reachable)
  let old: Index | undefined
  return {
    ...indexOf(reachable),
    services: [...new Set(services.map(({ typeName }) => typeName))].toSorted(),
    old() {
      old ??= indexOf(oldFiles(reachable).files)
      return old
    },
  }
}

function indexOf(files: Iterable<DescFile>): Index {
  const index: Index = { files: new Map(), symbols: new Map(), messages: new Set() }
  for (const file of files) {
    index.files.set(file.proto.name, file)
    for (const message of file.messages) addMessage(index, file, message)
    for (const { typeName } of file.enums) index.symbols.set(typeName, file)
    for (const service of file.services) {
      index.symbols.set(service.typeName, file)
      for (const { name } of service.methods) index.symbols.set(`${service.typeName}.${name}`, file)
    }
  }
  return index
}

function addMessage(index: Index, file: DescFile, message: DescMessage): void {
  index.messages.add(message.typeName)
  index.symbols.set(message.typeName, file)
  for (const { name } of message.fields) index.symbols.set(`${message.typeName}.${name}`, file)
  for (const { typeName } of message.nestedEnums) index.symbols.set(typeName, file)
  for (const nested of message.nestedMessages) addMessage(index, file, nested)
}
