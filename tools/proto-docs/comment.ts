// Finds what a contract says of an element, which stands beside it in the source; it must not change the words.
import type {
  DescEnum,
  DescEnumValue,
  DescField,
  DescFile,
  DescMessage,
  DescMethod,
  DescOneof,
  DescService,
} from '@bufbuild/protobuf'

/** An element that has a comment. */
export type Described =
  | DescFile
  | DescMessage
  | DescEnum
  | DescEnumValue
  | DescField
  | DescOneof
  | DescService
  | DescMethod

// Numbers of the fields of google.protobuf.FileDescriptorProto, of which a path is made.
const syntaxField = 12

/** The comment before an element, as one paragraph. */
export function commentOf(element: Described): string {
  const path = pathOf(element).join()
  const file = element.kind === 'file' ? element : fileOf(element)
  const location = file.proto.sourceCodeInfo?.location.find((one) => one.path.join() === path)
  return (location?.leadingComments ?? '').replaceAll(/\s+/g, ' ').trim()
}

function fileOf(element: Exclude<Described, DescFile>): DescFile {
  return 'file' in element ? element.file : element.parent.file
}

function pathOf(element: Described): number[] {
  switch (element.kind) {
    case 'file':
      return [syntaxField]
    case 'message': {
      const { parent, proto, file } = element
      if (parent === undefined) return [4, file.proto.messageType.indexOf(proto)]
      return [...pathOf(parent), 3, parent.proto.nestedType.indexOf(proto)]
    }
    case 'enum': {
      const { parent, proto, file } = element
      if (parent === undefined) return [5, file.proto.enumType.indexOf(proto)]
      return [...pathOf(parent), 4, parent.proto.enumType.indexOf(proto)]
    }
    case 'enum_value':
      return [...pathOf(element.parent), 2, element.parent.proto.value.indexOf(element.proto)]
    case 'field':
      return [...pathOf(element.parent), 2, element.parent.proto.field.indexOf(element.proto)]
    case 'oneof':
      return [...pathOf(element.parent), 8, element.parent.proto.oneofDecl.indexOf(element.proto)]
    case 'service':
      return [6, element.file.proto.service.indexOf(element.proto)]
    default:
      return [...pathOf(element.parent), 2, element.parent.proto.method.indexOf(element.proto)]
  }
}
