// gRPC server reflection, v1 and v1alpha, from the descriptors that the code already has, without .proto files.

import { type DescFile, type DescMessage, type DescService, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code, type ConnectRouter } from '@connectrpc/connect'
import {
  ServerReflection,
  type ServerReflectionRequest,
} from '#gen/grpc/reflection/v1/reflection_pb.js'
import { ServerReflection as ServerReflectionAlpha } from '#gen/grpc/reflection/v1alpha/reflection_pb.js'

type Query = ServerReflectionRequest['messageRequest']

/**
 * Serves reflection, v1 and v1alpha, for `services` and itself. An unknown name is answered in the protocol's own error
 * response (NotFound), not refused.
 */
export function reflectionRoutes(router: ConnectRouter, services: readonly DescService[]): void {
  const index = indexOf([...services, ServerReflection, ServerReflectionAlpha])
  // The two versions have the same messages in two packages.
  const alpha = ServerReflectionAlpha as unknown as typeof ServerReflection
  for (const version of [ServerReflection, alpha]) {
    router.service(version, {
      async *serverReflectionInfo(questions) {
        for await (const { host, messageRequest } of questions) {
          yield {
            validHost: host,
            originalRequest: { host, messageRequest },
            messageResponse: respond(index, messageRequest),
          }
        }
      },
    })
  }
}

interface Index {
  services: string[]
  /** Files by name, and by every symbol that they declare. */
  files: Map<string, DescFile>
  symbols: Map<string, DescFile>
  messages: Set<string>
}

function respond(index: Index, query: Query) {
  switch (query.case) {
    case 'listServices':
      return {
        case: 'listServicesResponse' as const,
        value: { service: index.services.map((name) => ({ name })) },
      }
    case 'fileByFilename':
      return fileResponse(index.files.get(query.value), 'file not found')
    case 'fileContainingSymbol':
      return fileResponse(index.symbols.get(query.value.replace(/^\./, '')), 'symbol not found')
    case 'fileContainingExtension':
      return errorResponse(Code.NotFound, 'extension not found')
    case 'allExtensionNumbersOfType':
      return index.messages.has(query.value)
        ? {
            case: 'allExtensionNumbersResponse' as const,
            value: { baseTypeName: query.value, extensionNumber: [] },
          }
        : errorResponse(Code.NotFound, 'type not found')
    default:
      return errorResponse(Code.InvalidArgument, 'unknown kind of request')
  }
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

function indexOf(services: readonly DescService[]): Index {
  const index: Index = {
    services: [...new Set(services.map((service) => service.typeName))].toSorted(),
    files: new Map(),
    symbols: new Map(),
    messages: new Set(),
  }
  const reachable = new Set<DescFile>()
  for (const service of services) withDependencies(service.file, reachable)
  for (const file of reachable) {
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
