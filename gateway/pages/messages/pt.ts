// The texts of hosted pages in Portuguese; no markup.

import type { Messages } from './en.ts'
/** Portuguese. */
export const pt: Messages = {
  languageName: 'Português',
  chooseLanguage: 'Idioma',

  openTitle: 'Pedido de pagamento',
  refusedTitle: 'Pagamento recusado: pode tentar de novo',
  refusedText: 'A última tentativa foi recusada e nada foi cobrado. Tentativas restantes: {count}.',
  partOfText: 'Esta é a sua parte de um pedido de {whole} no total.',
  partlyPaidText:
    'Outros já pagaram {paid} de {whole}. Faltam pagar {rest}, dos quais a sua parte é {amount}.',
  processingTitle: 'O seu pagamento está a ser processado',
  processingText: 'Aguarde e não pague outra vez. Esta página atualiza-se sozinha.',
  paidTitle: 'Pago',
  paidText: 'Obrigado. O comerciante foi informado.',
  yourPartPaidTitle: 'A sua parte está paga',
  yourPartPaidText:
    'Obrigado. Até agora foram pagos {paid} de {whole}. Outros ainda têm de pagar {rest}.',
  paidOfWhole: 'Pago: {paid} de {whole}',
  cancelledTitle: 'Este pedido de pagamento foi cancelado',
  cancelledText: 'O comerciante cancelou-o. Já não é possível pagar aqui.',
  expiredTitle: 'Este pedido de pagamento expirou',
  expiredText: 'O prazo de pagamento terminou. Peça uma nova ligação ao comerciante.',
  failedTitle: 'Este pagamento falhou',
  failedText: 'Já não é possível pagar aqui. Peça uma nova ligação ao comerciante.',
  refundedTitle: 'O seu dinheiro está a ser devolvido',
  refundedText: 'O pagamento foi reembolsado.',

  amount: 'Montante',
  fee: 'Taxa',
  total: 'Total a pagar',
  payUntil: 'Pagar até',
  waysToPay: 'Formas de pagamento',

  cash: 'Numerário',
  card: 'Cartão',
  wallet: 'Carteira móvel',
  credit: 'Cartão de crédito',
  debit: 'Cartão de débito',
  qr_code: 'Código QR',
  payWith: 'Pagar com: {method}',

  scanTitle: 'Digitalizar para pagar',
  scanText: 'Digitalize este código com a câmara de um telefone ou abra esta ligação:',
  qrLabel: 'Código QR do endereço desta página',

  walletTitle: 'Pagar com a sua carteira móvel',
  pinLabel: 'PIN da carteira',
  pinHint: '4 a 12 algarismos',
  mistakeTitle: 'Corrija isto',
  pinMistake: 'Um PIN tem 4 a 12 algarismos. Nada foi pago.',
  pay: 'Pagar {total}',

  cardTitle: 'Pagar com cartão',
  cardFrame: 'Formulário de cartão do prestador de pagamentos',
  cardUnavailable: 'O formulário de cartão não está disponível agora. Tente dentro de um minuto.',

  agentTitle: 'Pagar num agente',
  agentText: 'Mostre este código ao balcão, no ecrã ou impresso:',
  print: 'Imprimir esta página',

  refresh: 'Atualizar esta página',
  backTo: 'Voltar a {merchant}',
  openPage: 'Abrir a página de pagamento',

  notFoundTitle: 'Não encontrado',
  notFoundText:
    'Não há nada neste endereço. Verifique a ligação ou peça uma nova a quem lha enviou.',
  unavailableTitle: 'Tente de novo',
  unavailableText: 'A página não está disponível neste momento.',
  foreignFormTitle: 'Abra a ligação outra vez',
  foreignFormText: 'Este formulário não foi enviado da sua própria página ou é demasiado antigo.',
  tooManyTitle: 'Demasiados pedidos',
  tooManyText: 'Aguarde um momento e tente de novo.',
}
